/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/record.h"

enum { STATUS_MAX = 999 };

static const int64_t time_max_ms = INT64_C(253402300799999); /* the year 9999 */

static const char *const proto_words[] = {
	[RECORD_TCP] = "tcp",	  [RECORD_UDP] = "udp",	  [RECORD_ICMP] = "icmp",
	[RECORD_DNS] = "dns",	  [RECORD_HTTP] = "http", [RECORD_CONNECT] = "connect",
	[RECORD_SOCKS] = "socks", [RECORD_QUIC] = "quic", [RECORD_IP] = "ip",
};
_Static_assert(sizeof(proto_words) / sizeof(proto_words[0]) == RECORD_PROTOS,
	       "every proto has a word");

const char *record_proto_word(enum record_proto p)
{
	return proto_words[p];
}

/* Ends within its n octets, and is printable ASCII up to there. */
static bool is_text(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!s[i])
			return true;
		if (s[i] < 0x20 || s[i] > 0x7e)
			return false;
	}
	return false;
}

/* A bool that is neither must not be read as one. */
static bool is_bool(const bool *b)
{
	uint8_t octet;

	memcpy(&octet, b, sizeof(octet));
	return octet <= 1;
}

static bool is_name(const struct name *n)
{
	struct name again;

	return n->n <= NAME_MAX_OCTETS && n->s[n->n] == 0 &&
	       name_parse_ascii(n->s, n->n, &again) == NAME_OK && name_equal(n, &again);
}

static bool is_number(uint64_t n)
{
	return n <= INT64_MAX;
}

static bool has_good_numbers(const struct record *r)
{
	return r->time_ms >= 0 && r->time_ms <= time_max_ms && is_number(r->generation) &&
	       is_number(r->bytes_out) && is_number(r->bytes_in) && is_number(r->duration_ms) &&
	       r->status <= STATUS_MAX;
}

/* A flow may have ended for one: a limit, a change of the policy. */
static bool has_good_reason(const struct record *r)
{
	return r->kind == RECORD_END || (r->kind == RECORD_DENY) == (r->reason != REASON_NONE);
}

bool record_valid(const struct record *r)
{
	if (r->kind >= RECORD_KINDS || r->proto >= RECORD_PROTOS || r->reason >= REASONS ||
	    !has_good_reason(r))
		return false;
	if (!is_bool(&r->has_name) || !is_bool(&r->has_addr) || !has_good_numbers(r))
		return false;
	if (r->has_name && !is_name(&r->name))
		return false;
	return is_text(r->method, sizeof(r->method)) && is_text(r->path, sizeof(r->path)) &&
	       is_text(r->rule, sizeof(r->rule)) && is_text(r->permission, sizeof(r->permission)) &&
	       is_text(r->credential, sizeof(r->credential));
}

void record_put_text(char *out, size_t size, struct span s)
{
	size_t n = s.n < size - 1 ? s.n : size - 1;

	for (size_t i = 0; i < n; i++)
		out[i] = s.p[i] >= 0x20 && s.p[i] <= 0x7e ? (char)s.p[i] : '?';
	out[n] = 0;
}

void record_put_path(char *out, size_t size, struct span path)
{
	const uint8_t *mark = path.n ? memchr(path.p, '?', path.n) : NULL;

	record_put_text(out, size, mark ? span_of(path.p, (size_t)(mark - path.p)) : path);
}
