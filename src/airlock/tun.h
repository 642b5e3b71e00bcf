/* SPDX-License-Identifier: Apache-2.0 */
/* tun: the device by which packets reach the gate. */
#ifndef SG_AIRLOCK_TUN_H
#define SG_AIRLOCK_TUN_H

#include "base/compiler.h"

/*
 * Makes tun0, index LINK_INDEX_TUN0, in the namespace of the caller: layer 3, no header, gone with
 * the last copy of the descriptor, which is non-blocking. `device` is the path of the
 * kernel's clone device. Returns the descriptor or -errno.
 */
int tun_open(const char *device) sg_must_check;

#endif
