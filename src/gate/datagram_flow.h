/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datagram_flow: one exchange of datagrams between the sandbox and a far side, the table of them,
 * and what the journal hears of each. datagrams.c makes, judges and ends them; datagram_io.c moves
 * what they carry.
 */
#ifndef SG_GATE_DATAGRAM_FLOW_H
#define SG_GATE_DATAGRAM_FLOW_H

#include "gate/datagrams.h"
#include "gate/journal.h"

enum {
	DATAGRAM_BUCKETS = 2048,
	DATAGRAM_FLOW_NONE = UINT16_MAX,
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

/* The flow of these endpoints that is in the table, or NULL. */
struct datagram_flow *datagram_flow_find(struct datagrams *d, enum proto proto,
					 const struct endpoint *src, const struct endpoint *dst);

/*
 * A free place, which counts as open and cannot be found yet; NULL: all are taken. Then, once its
 * fields are set, it is put where it is found, or given back.
 */
struct datagram_flow *datagram_flow_take(struct datagrams *d);
void datagram_flow_put(struct datagram_flow *fl);
void datagram_flow_give_back(struct datagrams *d, struct datagram_flow *fl);

/* Closes its socket, notes its end, and frees its place. */
void datagram_flow_end(struct datagram_flow *fl, enum reason why);

/* The name that admitted it, or NULL. As long as fl. */
const struct name *datagram_flow_name(const struct datagram_flow *fl);

/* For the journal, by what the flow is: its name and rule are borrowed. */
struct event datagram_flow_event(const struct datagram_flow *fl, enum record_kind kind,
				 enum reason reason);
void datagram_flow_note(const struct datagram_flow *fl, enum record_kind kind, enum reason reason);
void datagram_flow_note_end(const struct datagram_flow *fl, enum reason why);

/* The watch of a flow's socket: what has come, or the error of what was sent. */
void datagram_ready(struct watch *w, uint32_t events);

/* Sends at once, or with others of its flow and size at the end of the run. */
void datagram_send(struct datagram_flow *fl, struct span payload);

/* What the sandbox is told of a datagram that it sent before. UDP only. */
void datagram_tell_unreachable(struct datagram_flow *fl, enum unreachable why);

extern const int datagram_io_syscalls[];

#endif
