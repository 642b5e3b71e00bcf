/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest: the two sockets on the link by which a virtual machine is told its configuration.
 *
 * What they receive is not for the gate's tun device: a broadcast from 0.0.0.0, and a multicast of
 * the link.
 */
#ifndef SG_AIRLOCK_GUEST_H
#define SG_AIRLOCK_GUEST_H

#include "base/compiler.h"

/* UDP, bound to link0 and port 67, broadcast allowed, non-blocking. The descriptor or -errno. */
int guest_open_dhcp(void) sg_must_check;

/*
 * Raw ICMPv6, bound to link0, that receives router solicitations only and sends with hop limit 255
 * to unicast and multicast (RFC 4861, 6.1), non-blocking. The descriptor or -errno.
 */
int guest_open_router(void) sg_must_check;

#endif
