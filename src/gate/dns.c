/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dns.h"

#include <string.h>

enum {
	POINTER = 0xc0, /* the two top bits of a length octet (RFC 1035, 4.1.4) */
	POINTER_HOPS_MAX = 16,
	FLAG_QR = 0x8000,
	FLAG_TC = 0x0200,
	FLAG_RD = 0x0100,
	FLAG_CD = 0x0010,
	OPT_DO = 0x8000,
};

/*
 * One length octet at *at. A pointer moves *at backward, before `floor`, which then moves as well:
 * so every chain of pointers ends. False for one that points elsewhere, or into the header.
 */
static bool follow_pointer(struct span m, size_t *at, size_t *floor)
{
	size_t target;

	if (m.n - *at < 2)
		return false;
	target = (size_t)(m.p[*at] & ~POINTER & 0xff) << 8 | m.p[*at + 1];
	if (target < DNS_HEADER || target >= *floor)
		return false;
	*at = *floor = target;
	return true;
}

bool dns_name_expand(struct span m, size_t at, struct dns_wire_name *out, size_t *end)
{
	size_t n = 0, floor = at;
	unsigned hops = 0;

	for (;;) {
		uint8_t c;

		if (at >= m.n)
			return false;
		c = m.p[at];
		if ((c & POINTER) == POINTER) {
			if (hops == 0)
				*end = at + 2;
			if (++hops > POINTER_HOPS_MAX || !follow_pointer(m, &at, &floor))
				return false;
			continue;
		}
		if (c & POINTER || (size_t)c + 1 > m.n - at || n + c + 1 > DNS_WIRE_NAME_MAX)
			return false;
		memcpy(out->b + n, m.p + at, (size_t)c + 1);
		n += (size_t)c + 1;
		at += (size_t)c + 1;
		if (c == 0)
			break;
	}
	out->n = (uint8_t)n;
	if (hops == 0)
		*end = at;
	return true;
}

void dns_name_to_wire(const struct name *name, struct dns_wire_name *out)
{
	size_t label = 0; /* where the length of the present label goes */

	for (size_t i = 0; i <= name->n; i++) {
		if (i < name->n && name->s[i] != '.') {
			out->b[i + 1] = (uint8_t)name->s[i];
			continue;
		}
		out->b[label] = (uint8_t)(i - label);
		label = i + 1;
	}
	out->b[label] = 0;
	out->n = (uint8_t)(label + 1);
}

static bool is_host_octet(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

enum name_error dns_name_from_wire(const struct dns_wire_name *w, struct name *out)
{
	char text[DNS_WIRE_NAME_MAX];
	size_t n = 0;

	for (size_t at = 0; w->b[at]; at += (size_t)w->b[at] + 1) {
		for (size_t i = 1; i <= w->b[at]; i++) {
			/* A dot inside a label must not become one between labels. */
			if (!is_host_octet(w->b[at + i]))
				return NAME_BAD_CHARACTER;
			text[n++] = (char)w->b[at + i];
		}
		text[n++] = '.';
	}
	if (n == 0)
		return NAME_EMPTY;
	return name_parse_ascii(text, n - 1, out);
}

static uint8_t fold(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* Length octets are at most 63 and so never letters: they need no care of their own. */
static bool equal_folded(const uint8_t *a, const uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fold(a[i]) != fold(b[i]))
			return false;
	return true;
}

bool dns_name_equal(const struct dns_wire_name *a, const struct dns_wire_name *b)
{
	return a->n == b->n && equal_folded(a->b, b->b, a->n);
}

bool dns_name_is_at_or_below(const struct dns_wire_name *name, const struct dns_wire_name *zone)
{
	size_t at = 0;

	while (name->n - at > zone->n)
		at += (size_t)name->b[at] + 1;
	return name->n - at == zone->n && equal_folded(name->b + at, zone->b, zone->n);
}

/* RFC 6891, 6.1.2: pairs of code and length that fill the data exactly. None of them is used. */
static bool options_are_whole(struct reader r)
{
	while (reader_left(&r)) {
		reader_u16(&r);
		reader_take(&r, reader_u16(&r));
	}
	return !r.bad;
}

/* RFC 6891, 6.1.3. The version is judged by the caller, once the whole message was read. */
static bool parse_opt(struct reader *r, struct dns_query *q, uint8_t *version)
{
	uint16_t size = reader_u16(r);

	reader_u8(r); /* upper bits of an rcode: no meaning in a question */
	*version = reader_u8(r);
	q->dnssec_ok = reader_u16(r) & OPT_DO;
	q->edns = true;
	q->udp_size = size < DNS_UDP_MIN ? DNS_UDP_MIN : size > DNS_UDP_MAX ? DNS_UDP_MAX : size;
	return options_are_whole(reader_sub(r, reader_u16(r))) && !r->bad;
}

/*
 * Everything after the question: one OPT record at most, and nothing else. A signature (TSIG,
 * SIG(0)) could not be checked here, so a message that has one is not understood.
 */
static enum dns_rcode parse_additional(struct reader *r, unsigned count, struct dns_query *q)
{
	uint8_t version = 0;

	for (unsigned i = 0; i < count; i++) {
		bool root = reader_u8(r) == 0;

		if (!root || reader_u16(r) != DNS_OPT || q->edns || !parse_opt(r, q, &version))
			return DNS_FORMERR;
	}
	if (r->bad || reader_left(r))
		return DNS_FORMERR;
	return version ? DNS_BADVERS : DNS_NOERROR;
}

/* RFC 1035, 4.1.2. A pointer cannot occur: nothing stands before the first name. */
static bool parse_question(struct span message, struct reader *r, struct dns_query *q)
{
	size_t end;

	if (!dns_name_expand(message, r->at, &q->qname, &end))
		return false;
	reader_take(r, end - r->at);
	q->qtype = reader_u16(r);
	q->qclass = reader_u16(r);
	q->has_question = !r->bad;
	return q->has_question;
}

static enum dns_rcode parse_after_header(struct span message, struct reader *r, uint16_t flags,
					 const uint16_t count[4], struct dns_query *q)
{
	if (flags & FLAG_QR)
		return DNS_FORMERR;
	if (q->opcode != 0)
		return DNS_NOTIMP;
	if (flags & FLAG_TC || count[0] != 1 || !parse_question(message, r, q))
		return DNS_FORMERR;
	if (q->qclass != DNS_CLASS_IN || q->qtype == DNS_AXFR || q->qtype == DNS_IXFR)
		return DNS_REFUSED;
	if (q->qtype == DNS_OPT || q->qtype == DNS_TSIG || q->qtype == DNS_TKEY)
		return DNS_FORMERR;
	if (count[1] || count[2])
		return DNS_FORMERR;
	return parse_additional(r, count[3], q);
}

enum dns_parse dns_query_parse(struct span message, struct dns_query *q, enum dns_rcode *rcode)
{
	struct reader r = reader_of(message);
	uint16_t flags, count[4];

	if (message.n < DNS_HEADER)
		return DNS_PARSE_DROP;
	memset(q, 0, offsetof(struct dns_query, qname));
	q->qtype = q->qclass = 0;
	q->edns = q->dnssec_ok = false;
	q->udp_size = DNS_UDP_MIN;
	q->id = reader_u16(&r);
	flags = reader_u16(&r);
	for (size_t i = 0; i < 4; i++)
		count[i] = reader_u16(&r);
	q->opcode = flags >> 11 & 0xf;
	q->rd = flags & FLAG_RD;
	q->cd = flags & FLAG_CD;
	*rcode = parse_after_header(message, &r, flags, count, q);
	return *rcode == DNS_NOERROR ? DNS_PARSE_OK : DNS_PARSE_ERROR;
}

size_t dns_question_build(const struct name *name, uint16_t type, uint16_t id, bool edns,
			  uint8_t out[DNS_QUESTION_MAX])
{
	struct buf b = buf_of(out, DNS_QUESTION_MAX);
	struct dns_wire_name w;

	dns_name_to_wire(name, &w);
	buf_put_u16(&b, id);
	buf_put_u16(&b, FLAG_RD);
	buf_put_u16(&b, 1);
	buf_put_u16(&b, 0);
	buf_put_u16(&b, 0);
	buf_put_u16(&b, edns);
	buf_put(&b, w.b, w.n);
	buf_put_u16(&b, type);
	buf_put_u16(&b, DNS_CLASS_IN);
	if (edns) {
		buf_put_u8(&b, 0);
		buf_put_u16(&b, DNS_OPT);
		buf_put_u16(&b, DNS_UDP_MAX);
		buf_put_u32(&b, 0);
		buf_put_u16(&b, 0);
	}
	return b.n;
}
