/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/refused.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "airlock/addresses.h"
#include "policy/permission.h"
#include "sandbox/log/seen_row.h"

/* --- from the gate --- */

/* The two ends of the link: nothing behind them is anybody's to allow. */
bool refused_is_own(const struct seen *s)
{
	static const char *const own[] = {AIRLOCK_GATE_V4, AIRLOCK_GATE_V6, AIRLOCK_SANDBOX_V4,
					  AIRLOCK_SANDBOX_V6};
	struct addr a;

	for (size_t i = 0; s->has_addr && !s->has_name && i < sg_array_len(own); i++)
		if (addr_parse(own[i], strlen(own[i]), &a) && addr_equal(&a, &s->addr))
			return true;
	return false;
}

static uint64_t count_of(const json_t *o, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(o, key));

	return n > 0 ? (uint64_t)n : 0;
}

uint64_t refused_read(const json_t *answer, struct suggestions *s)
{
	const json_t *rows = json_object_get(answer, "refusals"), *row;
	uint64_t others = count_of(answer, "other");
	size_t i;

	json_array_foreach(rows, i, row)
	{
		struct seen what;

		if (!seen_row_read(row, &what) || what.reason == REASON_NONE ||
		    refused_is_own(&what) || suggest_add(s, &what))
			others += count_of(row, "count");
	}
	return others;
}

/* --- for a person --- */

static const char *times(uint64_t n)
{
	return n == 1 ? "time" : "times";
}

static const char *proto_word(const struct suggestion_port *p)
{
	return p->proto == PROTO_UDP ? "udp" : p->proto == PROTO_ICMP ? "icmp" : "tcp";
}

static void put_ports(FILE *to, const struct suggestion *s)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct suggestion_port *p = &s->ports[i];

		fputs(p->lookup ? "lookup" : proto_word(p), to);
		if (!p->lookup && p->port)
			fprintf(to, " %u", (unsigned)p->port);
		fputs(", ", to);
	}
}

static void put_reasons(FILE *to, uint64_t reasons)
{
	const char *between = "";

	for (int r = 0; r < REASONS; r++) {
		if (!(reasons >> r & 1))
			continue;
		fprintf(to, "%s%s", between, reason_sentence((enum reason)r));
		between = "; ";
	}
}

/* "  db.example.com (tcp 5432, 2 times): no rule of the policy allows it", or in words. */
void refused_put(FILE *to, const struct suggestion *s)
{
	if (s->permission) {
		fprintf(to, "  the agent tried to %s, %" PRIu64 " %s\n", s->permission->attempt,
			s->count, times(s->count));
		return;
	}
	fprintf(to, "  %s (", *s->hosts[0] ? s->hosts[0] : "?");
	put_ports(to, s);
	fprintf(to, "%" PRIu64 " %s): ", s->count, times(s->count));
	if (s->allowed_now)
		fputs("it is allowed by now", to);
	else
		put_reasons(to, s->reasons);
	fputc('\n', to);
}

/* --- for a program --- */

static json_t *strings(char *const *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(v[i]));
	return list;
}

/* "lookup", "tcp/443", "icmp" */
static json_t *ports(const struct suggestion *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_ports; i++) {
		const struct suggestion_port *p = &s->ports[i];
		const char *proto = proto_word(p);

		if (p->lookup || !p->port)
			json_array_append_new(list, json_string(p->lookup ? "lookup" : proto));
		else
			json_array_append_new(list,
					      json_sprintf("%u/%s", (unsigned)p->port, proto));
	}
	return list;
}

static json_t *reasons(const struct suggestion *s)
{
	json_t *list = json_array();

	for (int r = 0; r < REASONS; r++)
		if (s->reasons >> r & 1)
			json_array_append_new(list, json_string(reason_word((enum reason)r)));
	return list;
}

static json_t *remedy(const struct suggestion *s, const char *sandbox)
{
	char *text = NULL;
	size_t n = 0;
	json_t *o;
	FILE *to = s->n_items && !s->net_deny ? open_memstream(&text, &n) : NULL;

	if (!to)
		return json_null();
	fprintf(to, "sandgate net allow %s", sandbox);
	for (size_t i = 0; i < s->n_items; i++)
		fprintf(to, " %s", s->items[i]);
	o = fclose(to) == 0 ? json_string(text) : NULL;
	free(text);
	return o;
}

static json_t *row_model(const struct suggestion *s, const char *sandbox)
{
	const struct permission *p = s->permission;

	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:b, s:o}", "permission",
			 p ? json_string(p->id) : json_null(), "says",
			 p ? json_string(p->attempt) : json_null(), "hosts",
			 strings(s->hosts, s->n_hosts), "ports", ports(s), "count",
			 (json_int_t)s->count, "reasons", reasons(s), "allowed_now", s->allowed_now,
			 "remedy", remedy(s, sandbox));
}

json_t *refused_model(const struct suggestions *s, const char *sandbox)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(rows, row_model(&s->v[i], sandbox));
	return rows;
}
