/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout: the numbers that the airlock's rules, routes and sockets have in common.
 */
#ifndef SG_AIRLOCK_LAYOUT_H
#define SG_AIRLOCK_LAYOUT_H

/*
 * Where TPROXY takes a SYN to. The sandbox cannot reach the port: its SYNs go to tun0 whatever
 * their port, and a SYN of the gate's carries the destination's port, not this one.
 */
#define AIRLOCK_TPROXY_PORT 61000

/* Packet marks. The first two are also the numbers of the routing tables that they lead to. */
#define AIRLOCK_MARK_GATE   1 /* to tun0; when the gate is gone, refused */
#define AIRLOCK_MARK_SOCKET 2 /* to a transparent socket here, whatever the address */
#define AIRLOCK_MARK_STRAY  3 /* TCP without a socket: looked up once more, then refused */
/* Where a device became the door of what is opened from outside (door0.c); 4 is a table as well. */
#define AIRLOCK_MARK_DOOR    4 /* an answer of the sandbox's: out by door0 */
#define AIRLOCK_MARK_SANDBOX 5 /* from door0, let in: to link0 */

/* From a socket of the gate's that speaks to a guest (guest.c). What it says to everybody the kernel
 * hands to this side as well, as a frame that came by the link. */
#define AIRLOCK_MARK_COPY 6

/* A frame by link0 that passed the rules at its ingress (rules.c). */
#define AIRLOCK_MARK_SEEN 7

#define AIRLOCK_TUN_QUEUE 4096
/*
 * The longest IPv4 packet there is, more than the link's MTU: a datagram that the kernel has
 * put together from fragments reaches the gate whole.
 */
#define AIRLOCK_TUN_MTU 65535
#define AIRLOCK_BACKLOG 4096

#endif
