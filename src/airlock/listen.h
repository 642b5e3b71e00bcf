/* SPDX-License-Identifier: Apache-2.0 */
/* listen: the gate's transparent listeners, made inside the airlock. */
#ifndef SG_AIRLOCK_LISTEN_H
#define SG_AIRLOCK_LISTEN_H

#include "base/compiler.h"

/*
 * A listener of this family (AF_INET, AF_INET6) on every address and AIRLOCK_TPROXY_PORT,
 * transparent (a connection's own address is the one that the sandbox dialled), non-blocking.
 * TCP_NODELAY is inherited by what it accepts. Returns the descriptor or -errno.
 */
int listen_open(int family) sg_must_check;

#endif
