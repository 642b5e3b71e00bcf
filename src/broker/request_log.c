/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/request_log.h"

#include <time.h>

#include "policy/rule.h"

static int64_t wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void request_log_begin(const struct request_log *l, struct record *r, const struct handover *peer,
		       const struct message *request)
{
	*r = (struct record){
		.time_ms = wall_ms(),
		.kind = RECORD_ALLOW,
		.proto = RECORD_HTTP,
		.has_addr = true,
		.addr = peer->dst.addr,
		.port = peer->dst.port,
		.has_name = peer->name.n > 0,
		.name = peer->name,
	};
	record_put_text(r->method, sizeof(r->method), request->method);
	record_put_path(r->path, sizeof(r->path), request->path);
}

void request_log_judge(const struct request_log *l, struct record *r,
		       const struct request_verdict *v)
{
	char rule[RULE_TEXT_MAX] = "";

	r->generation = l->generation;
	r->kind = v->what == REQUEST_REFUSED ? RECORD_DENY : RECORD_ALLOW;
	r->reason = v->what == REQUEST_REFUSED ? (uint8_t)v->reason : REASON_NONE;
	if (v->verdict.rule)
		rule_format(v->verdict.rule, rule);
	record_put_text(r->rule, sizeof(r->rule), span_of_string(rule));
	record_put_text(r->permission, sizeof(r->permission),
			span_of_string(v->permission ? v->permission : ""));
}

void request_log_put(const struct request_log *l, const struct record *r)
{
	ring_put(l->ring, l->wake, r);
}
