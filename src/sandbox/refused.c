/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/refused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "airlock/addresses.h"
#include "audit/record.h"
#include "policy/permission.h"

/* --- from the gate --- */

static const char *string_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

static uint64_t count_of(const json_t *row, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(row, key));

	return n > 0 ? (uint64_t)n : 0;
}

static bool read_proto(const char *word, struct seen *s)
{
	for (int p = 0; p < RECORD_PROTOS; p++) {
		if (strcmp(record_proto_word((enum record_proto)p), word) != 0)
			continue;
		s->lookup = p == RECORD_DNS;
		s->proto = p == RECORD_UDP || p == RECORD_QUIC ? PROTO_UDP
			   : p == RECORD_ICMP		       ? PROTO_ICMP
							       : PROTO_TCP;
		return true;
	}
	return false;
}

static bool read_reason(const char *word, struct seen *s)
{
	for (int r = 0; r < REASONS; r++)
		if (strcmp(reason_word((enum reason)r), word) == 0) {
			s->reason = (enum reason)r;
			return r != REASON_NONE;
		}
	return false;
}

static bool read_target(const json_t *row, struct seen *s)
{
	const char *name = string_of(row, "name"), *address = string_of(row, "address");
	json_int_t port = json_integer_value(json_object_get(row, "port"));

	s->has_name = name_parse_ascii(name, strlen(name), &s->name) == NAME_OK;
	s->has_addr = addr_parse(address, strlen(address), &s->addr);
	if ((*name && !s->has_name) || (*address && !s->has_addr) || port < 0 || port > 65535)
		return false;
	s->port = (uint16_t)port;
	return s->has_name || s->has_addr;
}

static bool read_row(const json_t *row, struct seen *s)
{
	*s = (struct seen){.count = count_of(row, "count")};
	return s->count && read_proto(string_of(row, "proto"), s) &&
	       read_reason(string_of(row, "reason"), s) && read_target(row, s);
}

/* The two ends of the link: nothing behind them is anybody's to allow. */
static bool is_own(const struct seen *s)
{
	static const char *const own[] = {AIRLOCK_GATE_V4, AIRLOCK_GATE_V6, AIRLOCK_SANDBOX_V4,
					  AIRLOCK_SANDBOX_V6};
	struct addr a;

	for (size_t i = 0; s->has_addr && !s->has_name && i < sg_array_len(own); i++)
		if (addr_parse(own[i], strlen(own[i]), &a) && addr_equal(&a, &s->addr))
			return true;
	return false;
}

uint64_t refused_read(const json_t *answer, struct suggestions *s)
{
	const json_t *rows = json_object_get(answer, "refusals"), *row;
	uint64_t others = count_of(answer, "other");
	size_t i;

	json_array_foreach(rows, i, row)
	{
		struct seen what;

		if (!read_row(row, &what) || is_own(&what) || suggest_add(s, &what))
			others += count_of(row, "count");
	}
	return others;
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
		const char *proto = p->proto == PROTO_UDP    ? "udp"
				    : p->proto == PROTO_ICMP ? "icmp"
							     : "tcp";

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

	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "permission",
			 p ? json_string(p->id) : json_null(), "says",
			 p ? json_string(p->attempt) : json_null(), "hosts",
			 strings(s->hosts, s->n_hosts), "ports", ports(s), "count",
			 (json_int_t)s->count, "reasons", reasons(s), "remedy", remedy(s, sandbox));
}

json_t *refused_model(const struct suggestions *s, const char *sandbox)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(rows, row_model(&s->v[i], sandbox));
	return rows;
}
