/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datagram_flow: one exchange of datagrams between the sandbox and a far side. For datagrams.c,
 * which makes, judges and ends them, and datagram_io.c, which moves what they carry.
 */
#ifndef SG_GATE_DATAGRAM_FLOW_H
#define SG_GATE_DATAGRAM_FLOW_H

#include "gate/datagrams.h"

enum {
	DATAGRAM_BUCKETS = 2048,
	RUN_OCTETS = 60000,
};

struct datagram_flow {
	struct watch watch;
	struct datagrams *table;
	bool used;
	bool is_quic; /* admitted by the server name inside */
	bool watched; /* admitted whatever it carries: QUIC in it is looked into */
	enum proto proto;
	uint16_t next;
	struct endpoint src, dst; /* echo: src.port is the identifier, dst.port 0 */
	struct addr dialled;
	struct name name;	 /* that admitted it: bound, or QUIC's server name; n == 0: none */
	bool by_default;	 /* admitted by the base, not by a rule */
	const struct rule *rule; /* that admitted it, of the present ruleset; NULL: none */
	uint64_t host;		 /* of the quota */
	uint64_t bytes_out, bytes_in;
	mono_t begun, last;
};

/* Datagrams of one flow that wait for the end of the run; all but the last have `segment` octets.
 */
struct run {
	struct datagram_flow *flow; /* NULL: empty */
	uint16_t segment;
	uint16_t n;
	bool last; /* one that is shorter ends it */
	size_t octets;
	uint8_t octet[RUN_OCTETS];
};

struct datagrams {
	struct gate *gate;
	struct run run;
	struct quic_watch *quic;
	struct timer sweep;
	uint32_t open;
	uint16_t used, free;
	uint16_t bucket[DATAGRAM_BUCKETS];
	struct datagram_flow *flow;
};

/* The watch of a flow's socket: what has come, or the error of what was sent. */
void datagram_ready(struct watch *w, uint32_t events);

/* Sends at once, or with others of its flow and size at the end of the run. */
void datagram_send(struct datagram_flow *fl, struct span payload);

/* What the sandbox is told of a datagram that it sent before. UDP only. */
void datagram_tell_unreachable(struct datagram_flow *fl, enum unreachable why);

extern const int datagram_io_syscalls[];

#endif
