/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/entry.h"

enum { REMEDIES = 64 };

struct remedy {
	bool used;
	struct name name;
	struct addr addr;
	uint16_t port;
	uint8_t proto, reason;
	char text[REMEDY_MAX];
};

struct event_printer {
	const char *sandbox;
	const struct catalogue *catalogue;
	char **on;
	struct remedy remedies[REMEDIES];
};

static const char *const actions[] = {
	[RECORD_ALLOW] = "sandgate.egress.allow",
	[RECORD_DENY] = "sandgate.egress.deny",
	[RECORD_END] = "sandgate.egress.end",
};
_Static_assert(sizeof(actions) / sizeof(actions[0]) == RECORD_KINDS, "every kind has an action");

const char *event_action(enum record_kind kind)
{
	return actions[kind];
}

struct event_printer *event_printer_new(const char *sandbox, const struct catalogue *catalogue)
{
	struct event_printer *p = calloc(1, sizeof(*p));

	if (p) {
		p->sandbox = sandbox;
		p->catalogue = catalogue;
	}
	return p;
}

static void free_words(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

void event_printer_free(struct event_printer *p)
{
	if (p)
		free_words(p->on);
	free(p);
}

void event_printer_set_on(struct event_printer *p, char **on)
{
	free_words(p->on);
	p->on = on;
	for (size_t i = 0; i < REMEDIES; i++)
		p->remedies[i].used = false;
}

/* --- members --- */

static void put_string(struct buf *out, const char *key, const char *value)
{
	if (!*value)
		return;
	buf_put_text(out, ",\"");
	buf_put_text(out, key);
	buf_put_text(out, "\":\"");
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			buf_put_u8(out, '\\');
		buf_put_u8(out, (uint8_t)*value);
	}
	buf_put_u8(out, '"');
}

static void put_number(struct buf *out, const char *key, uint64_t value)
{
	char text[64];
	int n = snprintf(text, sizeof(text), ",\"%s\":%" PRIu64, key, value);

	buf_put(out, text, (size_t)n);
}

static void put_time(struct buf *out, int64_t ms)
{
	char text[ENTRY_TIME + 1];

	entry_print_time(ms, text);
	buf_put_text(out, "\"time\":\"");
	buf_put_text(out, text);
	buf_put_u8(out, '"');
}

/* --- the remedy --- */

static enum proto proto_of(const struct record *r)
{
	if (r->proto == RECORD_ICMP)
		return PROTO_ICMP;
	return r->proto == RECORD_UDP || r->proto == RECORD_QUIC ? PROTO_UDP : PROTO_TCP;
}

static bool is_of(const struct remedy *m, const struct record *r)
{
	return m->used && m->port == r->port && m->proto == r->proto && m->reason == r->reason &&
	       addr_equal(&m->addr, &r->addr) && name_equal(&m->name, &r->name);
}

static struct remedy *slot_of(struct event_printer *p, const struct record *r)
{
	uint64_t hash = r->has_name ? name_hash(r->name.s, r->name.n)
				    : name_hash((const char *)r->addr.b, sizeof(r->addr.b));

	return &p->remedies[(hash ^ r->port) % REMEDIES];
}

static bool is_on(char *const *on, const char *id)
{
	while (on && *on && strcmp(*on, id) != 0)
		on++;
	return on && *on;
}

/*
 * Of a refused request the broker, which saw all of it, says which permission is for it. What it
 * says is looked up: it reads the sandbox's octets.
 */
static bool offer_permission(const struct event_printer *p, const struct remedy_for *who,
			     const struct record *r, char *out)
{
	const struct permission *offered =
		r->method[0] && r->permission[0] && p->catalogue
			? catalogue_permission(p->catalogue, r->permission)
			: NULL;

	if (!offered || is_on(p->on, offered->id))
		return false;
	remedy_format_permission(who, offered->id, out);
	return true;
}

static void make_remedy(const struct event_printer *p, const struct record *r, char *out)
{
	const struct remedy_for who = {
		.sandbox = p->sandbox, .catalogue = p->catalogue, .on = p->on};
	const struct destination d = {
		.kind = r->proto == RECORD_DNS ? DEST_LOOKUP : DEST_CONNECT,
		.name = r->has_name ? &r->name : NULL,
		.addr = r->has_addr ? &r->addr : NULL,
		.port = r->port,
		.proto = proto_of(r),
		.method = r->method[0] ? r->method : NULL,
		.path = r->path[0] ? r->path : NULL,
	};

	*out = 0;
	if ((d.name || d.addr) && !offer_permission(p, &who, r, out))
		remedy_format(&who, &d, (enum reason)r->reason, out);
}

/* What a request is told depends on its path as well: it is made each time. */
static const char *remedy_of(struct event_printer *p, const struct record *given, char *own)
{
	struct record r = *given;
	struct remedy *m;

	if (r.method[0]) {
		make_remedy(p, &r, own);
		return own;
	}
	if (!r.has_name)
		r.name = (struct name){0};
	if (!r.has_addr)
		r.addr = (struct addr){0};
	m = slot_of(p, &r);
	if (!is_of(m, &r)) {
		*m = (struct remedy){.used = true,
				     .name = r.name,
				     .addr = r.addr,
				     .port = r.port,
				     .proto = r.proto,
				     .reason = r.reason};
		make_remedy(p, &r, m->text);
	}
	return m->text;
}

/* --- the event --- */

static void put_target(struct buf *out, const struct record *r)
{
	char text[ADDR_TEXT_MAX];

	put_string(out, "proto", record_proto_word((enum record_proto)r->proto));
	if (r->has_name)
		put_string(out, "name", r->name.s);
	if (r->has_addr)
		put_string(out, "address", addr_format(&r->addr, text));
	if (r->port)
		put_number(out, "port", r->port);
	put_string(out, "method", r->method);
	put_string(out, "path", r->path);
	if (r->status)
		put_number(out, "status", r->status);
}

static void put_verdict(struct event_printer *p, const struct record *r, struct buf *out)
{
	char own[REMEDY_MAX];

	put_string(out, "rule", r->rule);
	put_string(out, "permission", r->permission);
	put_string(out, "credential", r->credential);
	if (r->reason != REASON_NONE)
		put_string(out, "reason", reason_word((enum reason)r->reason));
	if (r->kind == RECORD_DENY)
		put_string(out, "remedy", remedy_of(p, r, own));
	put_number(out, "generation", r->generation);
}

/* A request that the broker carried is noted once, when it is over. */
static bool is_over(const struct record *r)
{
	return r->kind == RECORD_END || r->bytes_out || r->bytes_in || r->duration_ms;
}

void event_print(struct event_printer *p, const struct record *r, struct buf *out)
{
	put_time(out, r->time_ms);
	put_string(out, "sandbox", p->sandbox);
	put_string(out, "action", event_action((enum record_kind)r->kind));
	put_string(out, "verdict", r->kind == RECORD_DENY ? "deny" : "allow");
	put_target(out, r);
	put_verdict(p, r, out);
	if (is_over(r)) {
		put_number(out, "bytes_out", r->bytes_out);
		put_number(out, "bytes_in", r->bytes_in);
		put_number(out, "duration_ms", r->duration_ms);
	}
}
