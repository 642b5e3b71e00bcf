/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/counted.h"

#include "audit/refusals.h"
#include "gate/wildcards.h"
#include "policy/permission.h"

static void append_wildcard(void *ctx, const struct dns_wildcard *w)
{
	json_t *names = json_array();

	for (size_t i = 0; i < w->n_names; i++)
		json_array_append_new(names, json_string(w->names[i].s));
	json_array_append_new(ctx, json_pack("{s:o, s:o, s:I}", "wildcard",
					     json_sprintf("*.%s", w->wildcard->s), "names", names,
					     "seen", (json_int_t)w->seen));
}

static json_t *status_of(const struct gate_counters *c, const struct dns_counters *dns,
			 uint64_t refusals, const struct gate_now *now, json_t *wildcards)
{
	return json_pack(
		"{s:I, s:{s:I, s:I}, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:{s:I, s:I}, s:I, s:I, s:I, s:o}",
		"generation", (json_int_t)now->generation, "frames", "denied",
		(json_int_t)(c->frames_denied + dns->refused), "noise", (json_int_t)c->frames_noise,
		"flows", "opened", (json_int_t)c->flows_opened, "refused",
		(json_int_t)c->flows_refused, "open", (json_int_t)now->open, "sending",
		(json_int_t)now->sending, "dns", "answered", (json_int_t)dns->answered, "refused",
		(json_int_t)dns->refused, "failed", (json_int_t)dns->failed, "requests",
		"inspected", (json_int_t)c->requests_inspected, "refused",
		(json_int_t)c->requests_refused, "bytes_out", (json_int_t)c->bytes_out, "bytes_in",
		(json_int_t)c->bytes_in, "refusals", (json_int_t)refusals, "wildcards", wildcards);
}

json_t *counted_status(const struct gate_totals *t, const struct gate_now *now)
{
	json_t *wildcards = json_array();

	wildcards_each(t->wildcards, append_wildcard, wildcards);
	return status_of(t->counters, t->dns, refusals_total(t->refusals), now, wildcards);
}

json_t *counted_status_untrusted(const struct gate_totals *t, uint64_t generation)
{
	struct gate_now now = {.generation = generation};

	return status_of(t->counters, t->dns, refusals_total(t->refusals), &now, json_array());
}

struct refusal_list {
	const struct remedy_for *who;
	json_t *rows;
};

static json_t *string_or_null(const char *s)
{
	return s && s[0] ? json_string(s) : json_null();
}

static enum proto proto_of(enum record_proto p)
{
	return p == RECORD_UDP || p == RECORD_QUIC ? PROTO_UDP
	       : p == RECORD_ICMP		   ? PROTO_ICMP
						   : PROTO_TCP;
}

/* Of a request the broker says which it needs; that is looked up, since it reads the sandbox's octets. */
static const struct permission *operation_permission(const struct remedy_for *who,
						     const struct refusal *what)
{
	if (!what->permission || !who->catalogue)
		return NULL;
	return catalogue_permission(who->catalogue, what->permission);
}

static void append_refusal(void *ctx, const struct refusal *what, uint64_t count)
{
	struct refusal_list *list = ctx;
	const struct permission *covering = NULL;
	struct destination d = {
		.kind = what->proto == RECORD_DNS ? DEST_LOOKUP : DEST_CONNECT,
		.name = what->name,
		.addr = what->addr,
		.port = what->port,
		.proto = proto_of(what->proto),
	};
	char remedy[REMEDY_MAX], address[ADDR_TEXT_MAX];

	covering = operation_permission(list->who, what);
	if (covering) {
		remedy_format_permission(list->who, covering->id, remedy);
	} else {
		remedy_format(list->who, &d, what->reason, remedy);
		/* Where no command would help, no permission would. */
		if (remedy[0] && list->who->catalogue)
			covering = catalogue_covering(list->who->catalogue, &d, list->who->on);
	}
	json_array_append_new(
		list->rows,
		json_pack("{s:s, s:o, s:o, s:i, s:s, s:I, s:o, s:o, s:o}", "proto",
			  record_proto_word(what->proto), "name",
			  string_or_null(what->name ? what->name->s : NULL), "address",
			  string_or_null(what->addr ? addr_format(what->addr, address) : NULL),
			  "port", (int)what->port, "reason", reason_word(what->reason), "count",
			  (json_int_t)count, "remedy", string_or_null(remedy), "permission",
			  string_or_null(covering ? covering->id : NULL), "attempt",
			  string_or_null(covering ? covering->attempt : NULL)));
}

json_t *counted_refusals(const struct refusals *r, const struct remedy_for *who)
{
	struct refusal_list list = {who, json_array()};

	refusals_each(r, append_refusal, &list);
	return json_pack("{s:o, s:I}", "refusals", list.rows, "other",
			 (json_int_t)refusals_other(r));
}

json_t *counted_refusals_untrusted(const struct refusals *r, const struct remedy_for *who)
{
	struct refusals *copy = refusals_copy(r);
	json_t *answer = copy ? counted_refusals(copy, who) : NULL;

	refusals_free(copy);
	return answer;
}
