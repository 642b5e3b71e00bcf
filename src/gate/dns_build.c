/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder of answers. Records fill the buffer up to its capacity; the OPT record, whose size is
 * known beforehand, has its room after them. The first record that does not fit sets TC and
 * closes the message to further ones, so that an answer is never cut inside a record or has
 * a hole.
 */
#include <string.h>

#include "gate/dns.h"

enum {
	FLAG_QR = 0x8000,
	FLAG_TC = 0x0200,
	FLAG_RD = 0x0100,
	FLAG_RA = 0x0080,
	FLAG_CD = 0x0010,
	OPT_SIZE = 11, /* without options */
	OPT_DO = 0x8000,
	OPTION_EDE = 15, /* RFC 8914, 2 */
	QNAME_AT = DNS_HEADER,
	POINTER = 0xc000,
	POINTER_MAX = 0x3fff,
	ANY_TTL = 60,
	SOA_ROOM = 96, /* that a reason leaves for the SOA of its answer */
};

static size_t opt_size(const struct dns_builder *d)
{
	if (!d->edns)
		return 0;
	return OPT_SIZE + (d->ede == DNS_EDE_NONE ? 0 : 6 + d->ede_text.n);
}

static void set_limit(struct dns_builder *d)
{
	d->b.cap = d->size - opt_size(d);
}

/* Remembers the places of a name's labels, which later names may end in. */
static void note_suffixes(struct dns_builder *d, size_t at)
{
	while (at <= POINTER_MAX && d->b.p[at] && (d->b.p[at] & 0xc0) == 0 &&
	       d->n_suffixes < DNS_SUFFIXES_MAX) {
		d->suffix[d->n_suffixes++] = (uint16_t)at;
		at += (size_t)d->b.p[at] + 1;
	}
}

static void put_question(struct dns_builder *d, const struct dns_query *q)
{
	buf_put(&d->b, q->qname.b, q->qname.n);
	buf_put_u16(&d->b, q->qtype);
	buf_put_u16(&d->b, q->qclass);
	note_suffixes(d, QNAME_AT);
}

void dns_build_begin(struct dns_builder *d, const struct dns_query *q, enum dns_rcode rcode,
		     void *out, size_t size)
{
	memset(d, 0, offsetof(struct dns_builder, suffix));
	d->size = size;
	d->rcode = rcode;
	d->edns = q->edns;
	d->dnssec_ok = q->dnssec_ok;
	d->ede = DNS_EDE_NONE;
	d->b = buf_of(out, size);
	set_limit(d);
	buf_put_u16(&d->b, q->id);
	buf_put_u16(&d->b, (uint16_t)(FLAG_QR | q->opcode << 11 | (q->rd ? FLAG_RD : 0) | FLAG_RA |
				      (q->cd ? FLAG_CD : 0) | (rcode & 0xf)));
	buf_put_u16(&d->b, q->has_question);
	buf_put_u16(&d->b, 0);
	buf_put_u16(&d->b, 0);
	buf_put_u16(&d->b, 0);
	if (q->has_question)
		put_question(d, q);
}

void dns_build_ede(struct dns_builder *d, enum dns_ede code, const char *text)
{
	size_t taken = d->b.n + OPT_SIZE + 6 + SOA_ROOM, room;

	if (!d->edns || taken > d->size)
		return;
	room = d->size - taken;
	d->ede = code;
	d->ede_text = span_of_string(text);
	if (d->ede_text.n > room)
		d->ede_text.n = room;
	set_limit(d);
}

/* Does the name at `at` of the message equal the uncompressed one at w, without case? */
static bool suffix_matches(const struct dns_builder *d, size_t at, const uint8_t *w)
{
	const uint8_t *m = d->b.p;

	for (;;) {
		while ((m[at] & 0xc0) == 0xc0)
			at = (size_t)(m[at] & 0x3f) << 8 | m[at + 1];
		if (m[at] != *w)
			return false;
		if (*w == 0)
			return true;
		for (size_t i = 1; i <= *w; i++) {
			uint8_t a = m[at + i], b = w[i];

			if (a != b && ((a ^ b) != 0x20 || (a | 0x20) < 'a' || (a | 0x20) > 'z'))
				return false;
		}
		at += (size_t)*w + 1;
		w += (size_t)*w + 1;
	}
}

/* Where a name that ends the message's names so far begins; 0 for none. */
static uint16_t find_suffix(const struct dns_builder *d, const uint8_t *w)
{
	for (size_t i = 0; i < d->n_suffixes; i++)
		if (suffix_matches(d, d->suffix[i], w))
			return d->suffix[i];
	return 0;
}

/* An uncompressed name, written with compression (RFC 1035, 4.1.4). */
static void put_name(struct dns_builder *d, const uint8_t *w)
{
	size_t at = d->b.n;
	uint16_t place = 0;

	for (; *w && !(place = find_suffix(d, w)); w += (size_t)*w + 1)
		buf_put(&d->b, w, (size_t)*w + 1);
	if (place)
		buf_put_u16(&d->b, POINTER | place);
	else
		buf_put_u8(&d->b, 0);
	if (!d->b.full)
		note_suffixes(d, at);
}

static size_t wire_length(const uint8_t *w)
{
	size_t n = 0;

	while (w[n])
		n += (size_t)w[n] + 1;
	return n + 1;
}

/* Fixed octets before the names in the data, and how many names: RFC 3597, 4 lists the types. */
static void compressible(uint16_t type, size_t *fixed, size_t *names)
{
	*fixed = type == DNS_MX ? 2 : 0;
	switch (type) {
	case DNS_NS:
	case DNS_CNAME:
	case DNS_PTR:
	case DNS_MX:
		*names = 1;
		break;
	case DNS_SOA:
		*names = 2;
		break;
	default:
		*names = 0;
	}
}

static void put_rdata(struct dns_builder *d, uint16_t type, struct span rdata)
{
	size_t fixed, names, length_at = d->b.n;
	const uint8_t *p = rdata.p;

	compressible(type, &fixed, &names);
	buf_put_u16(&d->b, 0);
	buf_put(&d->b, p, fixed);
	for (p += fixed; names; names--) {
		put_name(d, p);
		p += wire_length(p);
	}
	buf_put(&d->b, p, rdata.n - (size_t)(p - rdata.p));
	buf_patch_u16(&d->b, length_at, (uint16_t)(d->b.n - length_at - 2));
}

/* Ends a record that began at `mark`: counted when it is whole, taken back when not. */
static void settle(struct dns_builder *d, size_t mark, uint16_t suffixes, uint16_t *count)
{
	if (!d->b.full) {
		(*count)++;
		return;
	}
	d->b.n = mark;
	d->n_suffixes = suffixes;
	d->truncated = true;
}

/* After the first record that did not fit, `full` stays set and no later one is written. */
static void put_record(struct dns_builder *d, const struct dns_wire_name *owner, uint16_t type,
		       uint32_t ttl, struct span rdata, uint16_t *count)
{
	uint16_t suffixes = d->n_suffixes;
	size_t mark = d->b.n;

	if (d->truncated)
		return;
	if (owner)
		put_name(d, owner->b);
	else
		buf_put_u16(&d->b, POINTER | QNAME_AT);
	buf_put_u16(&d->b, type);
	buf_put_u16(&d->b, DNS_CLASS_IN);
	buf_put_u32(&d->b, ttl);
	put_rdata(d, type, rdata);
	settle(d, mark, suffixes, count);
}

void dns_build_record(struct dns_builder *d, uint16_t type, uint32_t ttl, struct span rdata)
{
	put_record(d, NULL, type, ttl, rdata, &d->n_answers);
}

void dns_build_addr(struct dns_builder *d, const struct addr *a, uint32_t ttl)
{
	bool v4 = addr_is_v4(a);

	dns_build_record(d, v4 ? DNS_A : DNS_AAAA, ttl,
			 v4 ? span_of(addr_v4_octets(a), 4) : span_of(a->b, 16));
}

void dns_build_any(struct dns_builder *d)
{
	static const uint8_t hinfo[] = {7, 'R', 'F', 'C', '8', '4', '8', '2', 0};

	dns_build_record(d, DNS_HINFO, ANY_TTL, span_of(hinfo, sizeof(hinfo)));
}

void dns_build_soa(struct dns_builder *d, const struct dns_wire_name *zone, uint32_t ttl,
		   struct span rdata)
{
	put_record(d, zone, DNS_SOA, ttl, rdata, &d->n_authority);
}

void dns_build_own_soa(struct dns_builder *d, const struct dns_wire_name *zone, uint32_t ttl)
{
	static const uint8_t names[] = "\007gateway\010sandgate\010internal\000"
				       "\006nobody\007invalid";
	uint8_t rdata[sizeof(names) + 20];
	struct buf b = buf_of(rdata, sizeof(rdata));

	buf_put(&b, names, sizeof(names));
	buf_put_u32(&b, 1);    /* serial */
	buf_put_u32(&b, 3600); /* refresh, retry, expire: nobody transfers this zone */
	buf_put_u32(&b, 600);
	buf_put_u32(&b, 86400);
	buf_put_u32(&b, ttl); /* how long "there is none" may be kept (RFC 2308, 4) */
	dns_build_soa(d, zone, ttl, buf_span(&b));
}

static void put_opt(struct dns_builder *d)
{
	buf_put_u8(&d->b, 0);
	buf_put_u16(&d->b, DNS_OPT);
	buf_put_u16(&d->b, DNS_UDP_MAX);
	buf_put_u8(&d->b, (uint8_t)(d->rcode >> 4));
	buf_put_u8(&d->b, 0);
	buf_put_u16(&d->b, d->dnssec_ok ? OPT_DO : 0);
	if (d->ede == DNS_EDE_NONE) {
		buf_put_u16(&d->b, 0);
		return;
	}
	buf_put_u16(&d->b, (uint16_t)(6 + d->ede_text.n));
	buf_put_u16(&d->b, OPTION_EDE);
	buf_put_u16(&d->b, (uint16_t)(2 + d->ede_text.n));
	buf_put_u16(&d->b, (uint16_t)d->ede);
	buf_put_span(&d->b, d->ede_text);
}

struct span dns_build_end(struct dns_builder *d)
{
	d->b.full = false;
	d->b.cap = d->size;
	if (d->truncated)
		d->b.p[2] |= FLAG_TC >> 8;
	buf_patch_u16(&d->b, 6, d->n_answers);
	buf_patch_u16(&d->b, 8, d->n_authority);
	buf_patch_u16(&d->b, 10, d->edns);
	if (d->edns)
		put_opt(d);
	return buf_span(&d->b);
}
