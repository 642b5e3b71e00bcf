/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/seen_row.h"

#include <string.h>

#include "audit/record.h"

/* A NUL inside would hide what follows it: such a text is none that anything takes. */
static const char *string_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);
	const char *s = json_string_value(value);

	if (!s)
		return "";
	return strlen(s) == json_string_length(value) ? s : "?";
}

static bool read_count(const json_t *row, struct seen *s)
{
	const json_t *count = json_object_get(row, "count");

	s->count = count ? (uint64_t)json_integer_value(count) : 1;
	return !count || json_integer_value(count) > 0;
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
	s->reason = REASON_NONE;
	if (!*word)
		return true;
	for (int r = REASON_NONE + 1; r < REASONS; r++)
		if (strcmp(reason_word((enum reason)r), word) == 0) {
			s->reason = (enum reason)r;
			return true;
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

/*
 * Of a connection the permission is that of some rule, of a request the one that is for it. What
 * cannot be an id is none; whether there is such a permission is for who has a catalogue.
 */
static void read_permission(const json_t *row, struct seen *s)
{
	const char *id = string_of(row, "permission");
	bool of_request = *string_of(row, "method") || s->reason == REASON_OPERATION_NOT_ALLOWED;
	size_t n = strlen(id);

	if (of_request && n < sizeof(s->permission) &&
	    strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-:") == n)
		memcpy(s->permission, id, n + 1);
}

bool seen_row_read(const json_t *row, struct seen *s)
{
	*s = (struct seen){.count = 0};
	if (!read_count(row, s) || !read_proto(string_of(row, "proto"), s) ||
	    !read_reason(string_of(row, "reason"), s) || !read_target(row, s))
		return false;
	read_permission(row, s);
	return true;
}
