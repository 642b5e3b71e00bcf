/* SPDX-License-Identifier: Apache-2.0 */
/* tun: packets from and to the airlock's tun device, one a read and one a write. */
#ifndef SG_GATE_TUN_H
#define SG_GATE_TUN_H

#include "base/buf.h"
#include "base/span.h"
#include "gate/ip.h"
#include "io/loop.h"

struct tun;

/* One packet; it lives until the call returns. */
typedef void tun_packet_fn(void *ctx, struct span packet);

/* After the last packet of a run that was read in one turn: what was put together goes out. */
typedef void tun_run_end_fn(void *ctx);

/* Owns the descriptor from here on. NULL without memory or when epoll refuses it. */
struct tun *tun_new(struct loop *l, int fd, tun_packet_fn *fn, tun_run_end_fn *end, void *ctx);

/* Of the link behind the device: what is built and is longer is cut. Without it nothing is. */
void tun_set_mtu(struct tun *t, uint32_t mtu);

/* An empty buffer of IP_PACKET_MAX octets for a packet to build; one at a time. */
struct buf *tun_begin(struct tun *t);
/* Writes what was built; nothing when it did not fit. A full device drops it, as a link would. */
void tun_send(struct tun *t);
/* Writes a packet as it stands. */
void tun_write(struct tun *t, struct span packet);

extern const int tun_syscalls[];

#endif
