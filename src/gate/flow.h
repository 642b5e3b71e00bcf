/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow: one TCP connection of the sandbox, from its SYN to its end.
 *
 * States, and who moves a flow on:
 *
 *	FREE        in the list of free ones
 *	DIALING     the SYN is held here; the host's socket is connecting
 *	OFFERED     the far side has connected, the SYN was given to the kernel, which
 *	            completes the handshake with the sandbox; next is accept
 *	INSPECTING  accepted; nothing of the client passes until its first octets are judged
 *	RELAYING    octets pass both ways (relay.c); plain HTTP is judged request by request
 *	LINGERING   a refusal was written to the sandbox; what it still sends is thrown away
 *	            until it closes, since a close with unread octets would destroy the refusal
 *	DNS         accepted, no far side: questions over TCP are answered here
 *	PROXY       accepted, no far side yet: the client says where to (proxy.c); then INSPECTING
 *	            or RELAYING, as the state after OFFERED would be
 *
 * A flow owns its sockets, its timer and the pipes it borrows. It is found by its
 * 4-tuple from DIALING on, unless it came through the proxy port: then until its request was
 * admitted, and `dst` is what it asked for. Flows made by --publish start in RELAYING and have no 4-tuple.
 *
 * The journal hears of a flow when all that is to be judged of it has been admitted, the name
 * inside included (`noted`), or else at its end; then of its end. One that was refused inside,
 * before an octet passed, is a refusal and nothing else.
 *
 * Nothing leaves the host for a flow before decide() admitted it, and no octet of the
 * client leaves before its server name was admitted, where the rule is by name.
 */
#ifndef SG_GATE_FLOW_H
#define SG_GATE_FLOW_H

#include "gate/context.h"
#include "gate/dns_stream.h"
#include "gate/http_guard.h"
#include "gate/http_status.h"
#include "gate/judge.h"
#include "gate/pipes.h"
#include "gate/tls_hello.h"
#include "gate/tunnels.h"

enum flow_state {
	FLOW_FREE,
	FLOW_DIALING,
	FLOW_OFFERED,
	FLOW_INSPECTING,
	FLOW_RELAYING,
	FLOW_LINGERING,
	FLOW_DNS,
	FLOW_PROXY,
	FLOW_STATES, /* count */
};

/* One end: `in` is towards the sandbox, `out` towards the world. */
struct side {
	struct watch watch;
	bool readable, writable; /* edge-triggered: true until the kernel said EAGAIN */
	bool hangup;		 /* EPOLLRDHUP seen: the end of the stream is in the buffer */
	bool orderly;		 /* a close is no reset: the stream to it is complete */
	bool urgent;		 /* EPOLLPRI seen: a short read does not mean empty; no splice */
};

/* One way. `up` is from the sandbox to the world, `down` the other. */
struct direction {
	uint64_t octets;   /* passed */
	uint64_t credit;   /* may pass without another look; UINT64_MAX: all */
	struct pipe *pipe; /* NULL unless octets are in flight */
	bool bulk;	   /* the last read was not small: splice */
	bool ended;	   /* the source said end of stream, and the sink was told */
};

enum inspection {
	INSPECT_NOTHING,
	INSPECT_TLS,
	INSPECT_HTTP,
	/* Admitted whatever it carries; only TLS to a host that has to be seen is not let by. */
	INSPECT_LOOK,
};

/* Plain HTTP: the guard, and the request that was admitted last, as far as it is judged again. */
struct flow_http {
	struct http_guard guard;
	uint32_t requests; /* that were admitted */
	uint16_t status;   /* of the first answer; 0: not seen */
	bool answer_read;  /* it is not looked for any more */
	bool path_cut;	   /* the path was longer */
	bool has_refused;
	struct name refused; /* when refusing and has_refused: the name that was */
	char method[RECORD_METHOD_MAX];
	char path[RECORD_PATH_MAX]; /* without its query */
};

struct flow {
	enum flow_state state;
	uint32_t next;	     /* in its hash chain, or in the free list */
	uint32_t generation; /* of the slot: a late answer to an earlier flow is told apart */
	struct gate *gate;
	struct endpoint src, dst; /* as the sandbox sees them */
	struct side in, out;
	struct direction up, down;
	struct timer timer;
	enum inspection inspection;
	const struct rule *rule; /* that admitted it, of the present ruleset; NULL: none */
	mono_t begun;
	enum record_proto proto; /* for the journal: TCP, or how it asks the proxy port */
	bool by_proxy;		 /* it was asked for through the proxy port */
	bool by_name;		 /* ... by its name, which is `name` */
	bool noted;		 /* the journal has its admission, and will have its end */
	bool handed_over;	 /* it goes on at the broker: its end is not here */
	bool has_ech;		 /* TLS: its hello was encrypted, or greased */
	bool by_default;	 /* admitted by the base, not by a rule */
	enum reason ended_for;	 /* what cut or refused it; REASON_NONE: nothing */
	bool no_delay;		 /* set on the host's socket already */
	bool keepalive;		 /* set on the host's socket already */
	uint16_t unanswered;	 /* DNS: questions that were taken and not answered yet */
	bool timer_is_idle;	 /* INSPECTING: not one octet of the client yet */
	bool queued;		 /* in the list of flows to go on with in the next turn */
	bool refusing;		 /* a later HTTP request was refused; see inspect.c */
	bool await_status;	 /* the answer decides on a protocol switch */
	enum reason refused_for; /* when refusing */
	uint32_t queue_next;
	uint8_t n_dial, at_dial;
	struct endpoint dial[DIAL_MAX];
	bool by_parent;	   /* through the parent proxy: */
	uint8_t at_parent; /* which of its addresses is dialled */
	struct tunnel tunnel;
	uint8_t syn_octets;
	uint8_t syn[IP_HEADERS_MAX];
	struct name name; /* that admitted it: bound, server name or Host; n == 0: none */
	union {
		struct tls_hello hello;
		struct flow_http http;
		struct dns_stream *dns;
		struct proxy *proxy;
	} peek;
	struct http_status status;
};

enum { FLOW_INSPECT_MS = 5000 }; /* from the first octet to a whole hello or head */

struct flows;

/* Fixed for the life of the gate; memory is touched as flows are used. */
struct flows *flows_new(struct gate *g, uint32_t max_flows, int listen_v4, int listen_v6,
			struct err *e);
uint32_t flows_open(const struct flows *f);
/* With those of UDP and echo, and those that are at the broker: limits.flows is of all. */
uint32_t flows_open_in_all(const struct gate *g);
/* Those whose client has not come to the end of what it sends. */
uint32_t flows_sending(const struct flows *f);

/* One more new flow, TCP or not, within limits.flows_per_second and its burst? Counts it. */
bool flows_within_rate(struct flows *f);

/* A SYN of the sandbox. */
void flows_take_syn(struct flows *f, const struct packet *p);

/* An answer for a question that came over TCP; nothing when the flow has ended since. */
void flows_answer_dns(struct flows *f, uint32_t slot, uint32_t generation, struct span message);

/* A flow between two connected sockets (--publish), or both are closed. */
void flows_join(struct flows *f, int sandbox_fd, int world_fd);

/* What flow_queue() put off; at the end of each turn. */
void flows_run_queue(struct flows *f);

/*
 * rejudge.c: cuts every flow that would not be admitted now, since the host has got an address or
 * there is another policy, whose rules the others name from here on. One that --publish made stays.
 */
void flows_rejudge(struct flows *f);

/* A capture has begun: how it stands with the flow in a place, of so many that were ever taken. */
uint32_t flows_places(const struct flows *f);
void flows_tell(const struct flows *f, uint32_t place);

/* For the modules that move a flow on. */
static inline const struct name *flow_name(const struct flow *fl)
{
	return fl->name.n ? &fl->name : NULL;
}

/* It was admitted whatever it carries: no name inside has to admit it. */
static inline bool flow_is_whole(const struct flow *fl)
{
	return fl->inspection == INSPECT_NOTHING || fl->inspection == INSPECT_LOOK;
}

uint32_t flow_slot(const struct flow *fl);
void flow_queue(struct flow *fl); /* go on in the next turn */
void flow_set_timer(struct flow *fl, int64_t ms);
void flow_close(struct flow *fl); /* orderly: both ends saw the end of stream */
void flow_abort(struct flow *fl); /* RST both ways */
void flow_cut(struct flow *fl);	  /* RST both ways, also where the stream had come to its end */
void flow_linger(struct flow *fl, struct span last_words); /* write, half-close, drain */
/* `seen` octets of the client were looked at, just now, and there is credit; 0: none were. */
void flow_begin_relay(struct flow *fl, size_t seen);
/* All that was to go to this side has gone: the kernel delivers it, whatever the gate does next. */
void flow_complete_side(struct side *s);

/*
 * flow_journal.c: what the journal hears of a flow. flow_refuse() fills in the address and the
 * port, and counts.
 */
void flow_refuse(struct flow *fl, struct event refusal);
void flow_note_admitted(struct flow *fl);
/* For a capture: how it stands with the flow. */
void flow_tell(const struct flow *fl);
void flow_tell_handed_over(const struct flow *fl);
/*
 * It was admitted and its server is not to be had. Where requests would have been seen it is noted
 * as the broker notes a request that fails, so that it is in the audit log as well.
 */
void flow_note_unreached(struct flow *fl, enum reason why);
void flow_note_request(struct flow *fl, const struct http_request *rq);
void flow_note_end(struct flow *fl);

/* relay.c */
enum moved {
	MOVED_SOME,
	MOVED_NOTHING, /* source empty or sink full */
	MOVED_END,     /* the source has ended */
	MOVED_ERROR,
};

void relay_run(struct flow *fl);
/* As relay_run(); first `seen` octets of the last relay_peek() pass up, as far as there is credit. */
void relay_begin(struct flow *fl, size_t seen);
/* What waits in a side's socket, without taking it; `seen` is valid until the next call. */
enum moved relay_peek(struct side *s, struct span *seen);
extern const int relay_syscalls[];

/*
 * inspect.c: looks at what the client sent and has not passed yet, and gives `up.credit` for it,
 * or refuses, or gives nothing and waits for more.
 */
void inspect_client(struct flow *fl, struct span seen);
/* What was to be inspected need not be any more: credit for all of it. */
void inspect_nothing(struct flow *fl);
/* The first octets of the server pass by: what status do they give? */
void inspect_answer(struct flow *fl, struct span passing);
/* Looks at what the server sent while a protocol switch is open; gives `down.credit`. */
void inspect_server(struct flow *fl, struct span seen);
/* The answers before the refused request have all passed: the refusal itself. */
void inspect_finish_refusal(struct flow *fl);
/* The client took too long. */
void inspect_time_out(struct flow *fl);

extern const int flow_syscalls[];
extern const int handshake_syscalls[];
extern const int dial_syscalls[];

#endif
