/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_end: what a client that gets no connection is told, and what is noted of it. */
#include "gate/proxy.h"
#include "gate/proxy_state.h"

enum { STATUS_FORBIDDEN = 403, STATUS_UNAVAILABLE = 503 };

void proxy_finish(struct flow *fl, const struct buf *last_words)
{
	proxy_drop(fl);
	flow_linger(fl, buf_span(last_words));
}

static void answer_socks(struct flow *fl, enum socks_reply reply)
{
	uint8_t octets[SOCKS_REPLY_OCTETS];
	struct buf b = buf_of(octets, sizeof(octets));

	socks_reply_print(reply, &b);
	proxy_finish(fl, &b);
}

static void answer_http(struct flow *fl, const struct proxy_answer *a)
{
	static uint8_t octets[PROXY_ANSWER_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	proxy_answer_print(a, &b);
	proxy_finish(fl, &b);
}

static const struct name *asked_name(const struct proxy *p)
{
	return p->to.kind == HTTP_HOST_NAME ? &p->to.name : NULL;
}

static const struct addr *asked_addr(const struct proxy *p)
{
	return p->to.kind == HTTP_HOST_ADDRESS ? &p->to.addr : NULL;
}

/* The request as it was asked: where it leads to may not be known. */
static void note_refused(struct flow *fl, enum reason r, const struct rule *rule)
{
	const struct proxy *p = proxy_of(fl);
	struct event e = {.kind = RECORD_DENY,
			  .proto = fl->proto,
			  .reason = r,
			  .name = asked_name(p),
			  .addr = asked_addr(p),
			  .port = p->to.port,
			  .rule = rule,
			  .exchange = {.near = &fl->src, .proto = IPPROTO_TCP}};

	fl->ended_for = r;
	fl->gate->counters->flows_refused++;
	fl->gate->counters->frames_denied++;
	journal_note(fl->gate->journal, &e);
}

void proxy_refuse(struct flow *fl, enum reason r, const struct rule *rule)
{
	const struct proxy *p = proxy_of(fl);
	struct destination d = {.kind = DEST_CONNECT,
				.name = asked_name(p),
				.addr = asked_addr(p),
				.port = p->to.port,
				.proto = PROTO_TCP,
				.by_proxy = true};
	struct http_authority to = p->to;
	char remedy[REMEDY_MAX];
	struct proxy_answer a = {.status = r == REASON_BROKER_DOWN ? STATUS_UNAVAILABLE
								   : STATUS_FORBIDDEN,
				 .to = &to,
				 .reason = r,
				 .remedy = remedy};

	note_refused(fl, r, rule);
	if (p->socks) {
		answer_socks(fl, SOCKS_NOT_ALLOWED);
		return;
	}
	remedy_format(&fl->gate->remedy, &d, r, remedy);
	answer_http(fl, &a);
}

/* It was no refusal: what was asked for could not be had. */
void proxy_fail(struct flow *fl, struct proxy_answer a, enum socks_reply reply)
{
	struct http_authority to = proxy_of(fl)->to;

	a.to = &to;
	if (proxy_of(fl)->socks)
		answer_socks(fl, reply);
	else
		answer_http(fl, &a);
}

void proxy_refuse_malformed(struct flow *fl, uint16_t status, const char *why)
{
	struct proxy_answer a = {.status = status, .reason = REASON_MALFORMED_HTTP, .why = why};

	flow_refuse(fl, (struct event){.proto = fl->proto, .reason = a.reason});
	answer_http(fl, &a);
}

void proxy_refuse_socks(struct flow *fl, enum socks_reply reply)
{
	enum reason r = reply == SOCKS_COMMAND_UNKNOWN ? REASON_PROTOCOL_NOT_CARRIED
						       : REASON_MALFORMED_SOCKS;

	flow_refuse(fl, (struct event){.proto = fl->proto, .reason = r});
	answer_socks(fl, reply);
}
