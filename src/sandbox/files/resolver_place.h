/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver_place: a container without a network of its engine's has no /etc/resolv.conf, and its
 * programs then ask themselves. One that names the gate is put into its file system.
 */
#ifndef SG_SANDBOX_RESOLVER_PLACE_H
#define SG_SANDBOX_RESOLVER_PLACE_H

#include "base/err.h"
#include "base/span.h"

/*
 * By the container's configuration, before it runs. Where the engine mounts a file there, or the
 * image has one that names a server, it stays: the gate answers whatever server is asked. 0, or -1
 * with the message.
 */
int resolver_place(struct span config, struct err *e) sg_must_check;

#endif
