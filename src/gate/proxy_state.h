/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_state: what a flow in FLOW_PROXY has, for proxy.c, proxy_read.c and proxy_end.c only. */
#ifndef SG_GATE_PROXY_STATE_H
#define SG_GATE_PROXY_STATE_H

#include "gate/flow.h"
#include "gate/proxy_answer.h"
#include "gate/proxy_request.h"
#include "gate/socks.h"

enum proxy_phase { PROXY_GREETING, PROXY_PASSWORD, PROXY_REQUEST, PROXY_RESOLVING, PROXY_DIALING };

struct proxy {
	enum proxy_phase phase;
	bool socks, absolute;
	bool follows;	 /* the flow's `dst` is the address that is dialled */
	uint8_t waiting; /* answers to lookups that are to come */
	enum reason why; /* one of them was none */
	struct http_authority to;
	struct proxy_request request; /* of HTTP */
};

static inline struct proxy *proxy_of(const struct flow *fl)
{
	return fl->peek.proxy;
}

/* proxy.c: the request is read, and `to` is filled. */
void proxy_ask(struct flow *fl);
/* False: they did not all find room, which a client that waits for them does not bring about. */
bool proxy_tell(struct flow *fl, const void *octets, size_t n);

/* proxy_end.c: the end without a connection. The policy says no, and the journal hears of it; */
void proxy_refuse(struct flow *fl, enum reason r, const struct rule *rule);
/* what was asked for cannot be had, which is no refusal; */
void proxy_fail(struct flow *fl, struct proxy_answer a, enum socks_reply reply);
/* what was asked cannot be read; */
void proxy_refuse_malformed(struct flow *fl, uint16_t status, const char *why);
void proxy_refuse_socks(struct flow *fl, enum socks_reply reply);
/* or just these octets. */
void proxy_finish(struct flow *fl, const struct buf *last_words);

#endif
