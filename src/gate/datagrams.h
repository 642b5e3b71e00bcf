/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datagrams: UDP and ICMP echo of the sandbox, relayed per 4-tuple (echo: per address and
 * identifier) over a connected socket on the host, so that only the peer's replies come back.
 */
#ifndef SG_GATE_DATAGRAMS_H
#define SG_GATE_DATAGRAMS_H

#include "gate/context.h"
#include "gate/ip.h"

enum { DATAGRAM_FLOWS_MAX = 1024 };

struct datagrams;

struct datagrams *datagrams_new(struct gate *g);
uint32_t datagrams_open(const struct datagrams *d);

/* A UDP datagram to any port but 53. */
void datagrams_take_udp(struct datagrams *d, const struct packet *p);
/* An echo request. */
void datagrams_take_echo(struct datagrams *d, const struct packet *p);

/* Sends what datagrams_take_udp() put together; after each run of packets. */
void datagrams_flush(struct datagrams *d);

/* A capture has begun: how it stands with the flow in that place of DATAGRAM_FLOWS_MAX, if any. */
void datagrams_tell(const struct datagrams *d, uint32_t place);

/*
 * Ends every flow that would not be admitted now, and tells the sandbox. The others name the rules
 * of the present policy from here on.
 */
void datagrams_rejudge(struct datagrams *d);

extern const int datagrams_syscalls[];

#endif
