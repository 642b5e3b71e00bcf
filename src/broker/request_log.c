/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/request_log.h"

#include <string.h>
#include <time.h>

#include "audit/refusals.h"
#include "broker/placeholder.h"
#include "policy/rule.h"

static int64_t wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

enum { PATH_LOOKED_AT = 4096 /* of a longer one the rest is never in a record */ };
_Static_assert((int)PATH_LOOKED_AT >= (int)RECORD_PATH_MAX, "all of a record's path is looked at");

/* What begins like a secret at the end is one when the path goes on. */
static void mask_secrets(const struct vault *vault, uint8_t *path, size_t n, bool cut)
{
	size_t ready = vault_mask_text(vault, path, n);

	if (cut)
		memset(path + ready, '*', n - ready);
}

/* A placeholder that stands as it is is told from what is around it; in other shapes it is not. */
static void mask_placeholders(uint8_t *path, size_t n)
{
	static const char prefix[] = PLACEHOLDER_PREFIX;
	const size_t skip = sizeof(prefix) - 1;
	uint8_t *at = path, *end = path + n;

	if (!placeholder_is_in(span_of(path, n)))
		return;
	while ((at = memmem(at, (size_t)(end - at), prefix, skip)) != NULL) {
		size_t left = (size_t)(end - at);

		memset(at, '*', left < PLACEHOLDER_N ? left : PLACEHOLDER_N);
		at += left < PLACEHOLDER_N ? left : PLACEHOLDER_N;
	}
	if (placeholder_is_in(span_of(path, n)))
		memset(path, '*', n);
}

/* A query is no part of it, and is cut before anything else. */
static void put_path(struct record *r, const struct vault *vault, struct span path)
{
	uint8_t room[PATH_LOOKED_AT];
	const uint8_t *query = path.n ? memchr(path.p, '?', path.n) : NULL;
	size_t n = query ? (size_t)(query - path.p) : path.n;
	bool cut = n > sizeof(room);

	n = cut ? sizeof(room) : n;
	if (n)
		memcpy(room, path.p, n);
	if (vault)
		mask_secrets(vault, room, n, cut);
	mask_placeholders(room, n);
	record_put_path(r->path, sizeof(r->path), span_of(room, n));
	explicit_bzero(room, n);
}

void request_log_begin(const struct request_log *l, struct record *r, const struct handover *peer,
		       const struct message *request, const struct vault *vault)
{
	*r = (struct record){
		.kind = RECORD_ALLOW,
		.proto = RECORD_HTTP,
		.has_addr = true,
		.addr = peer->dst.addr,
		.port = peer->dst.port,
		.has_name = peer->name.n > 0,
		.name = peer->name,
	};
	record_put_text(r->method, sizeof(r->method), request->method);
	put_path(r, vault, request->path);
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

void request_log_use(struct record *r, const char *credential)
{
	record_put_text(r->credential, sizeof(r->credential), span_of_string(credential));
}

/* A permission is told where the request wants one, and not where it was admitted by it. */
static void count_refusal(struct refusals *refusals, const struct record *r)
{
	bool wants = r->reason == REASON_OPERATION_NOT_ALLOWED || r->reason == REASON_NOT_IN_POLICY;

	refusals_note(refusals,
		      &(struct refusal){
			      .proto = (enum record_proto)r->proto,
			      .reason = (enum reason)r->reason,
			      .name = r->has_name ? &r->name : NULL,
			      .addr = r->has_addr ? &r->addr : NULL,
			      .port = r->port,
			      .permission = wants && r->permission[0] ? r->permission : NULL,
		      });
}

void request_log_put(const struct request_log *l, struct record *r)
{
	if (r->kind == RECORD_DENY && l->refusals)
		count_refusal(l->refusals, r);
	r->time_ms = wall_ms();
	ring_put(l->ring, l->wake, r);
}
