/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an upstream server answered, checked and taken apart.
 *
 * The answer section is read once into a table of places; the chain of CNAMEs is then
 * followed through it from the asked name, in whatever order its records stand (RFC 1034, 3.6.2).
 * Records that belong to no link of the chain are never looked at.
 */
#include <string.h>

#include "gate/dns.h"
#include "gate/dns_svcb.h"

enum {
	FLAG_QR = 0x8000,
	FLAG_TC = 0x0200,
	OPCODE = 0x7800,
	RRS_MAX = 256, /* records of the answer section that are looked at */
	CHAIN_MAX = 16,
	NEGATIVE_TTL = 5, /* of an answer without an SOA */
};

struct rr {
	size_t owner_at;
	uint16_t type, class;
	uint32_t ttl;
	size_t at, end; /* its data */
};

struct rrs {
	size_t n;
	struct rr rr[RRS_MAX];
};

/* A TTL with the top bit set counts as zero (RFC 2181, 8). */
static uint32_t sane_ttl(uint32_t ttl)
{
	return ttl > INT32_MAX ? 0 : ttl;
}

static bool parse_rr(struct span m, struct reader *r, struct rr *out)
{
	struct dns_wire_name owner;
	size_t end;

	out->owner_at = r->at;
	if (!dns_name_expand(m, r->at, &owner, &end))
		return false;
	reader_take(r, end - r->at);
	out->type = reader_u16(r);
	out->class = reader_u16(r);
	out->ttl = sane_ttl(reader_u32(r));
	out->end = reader_u16(r);
	out->at = r->at;
	out->end += out->at;
	reader_take(r, out->end - out->at);
	return !r->bad;
}

static bool parse_answer_section(struct span m, struct reader *r, unsigned count, struct rrs *out)
{
	struct rr rr;

	out->n = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!parse_rr(m, r, &rr))
			return false;
		if (out->n < RRS_MAX && rr.class == DNS_CLASS_IN)
			out->rr[out->n++] = rr;
	}
	return true;
}

/* A name that fills the data up to *at's new place, inside the record. */
static bool take_name(struct span m, const struct rr *rr, size_t *at, struct dns_wire_name *out)
{
	return dns_name_expand(m, *at, out, at) && *at <= rr->end;
}

/* Hosts and zones are letters, digits, hyphens and underscores; anything else is left out. */
static bool is_host_name(const struct dns_wire_name *w)
{
	for (size_t at = 0; w->b[at]; at += (size_t)w->b[at] + 1)
		for (size_t i = 1; i <= w->b[at]; i++) {
			uint8_t c = w->b[at + i], lower = c | 0x20;

			if (!((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
			      c == '-' || c == '_'))
				return false;
		}
	return true;
}

enum copied { COPIED, LEFT_OUT, BAD };

/* `fixed` octets, then one name that ends the data: NS, CNAME, PTR, MX, SRV. */
static enum copied copy_with_name(struct span m, const struct rr *rr, size_t fixed, struct buf *b)
{
	struct dns_wire_name name;
	size_t at = rr->at + fixed;

	if (rr->end - rr->at < fixed || !take_name(m, rr, &at, &name) || at != rr->end)
		return BAD;
	if (!is_host_name(&name))
		return LEFT_OUT;
	buf_put(b, m.p + rr->at, fixed);
	buf_put(b, name.b, name.n);
	return COPIED;
}

/* RFC 1035, 3.3.13. The mailbox may hold any octets in its first label. */
static enum copied copy_soa(struct span m, const struct rr *rr, struct buf *b)
{
	struct dns_wire_name server, mailbox;
	size_t at = rr->at;

	if (!take_name(m, rr, &at, &server) || !take_name(m, rr, &at, &mailbox) ||
	    rr->end - at != 20)
		return BAD;
	if (!is_host_name(&server))
		return LEFT_OUT;
	buf_put(b, server.b, server.n);
	buf_put(b, mailbox.b, mailbox.n);
	buf_put(b, m.p + at, 20);
	return COPIED;
}

/* RFC 1035, 3.3.14: one or more character-strings. */
static enum copied copy_txt(struct span m, const struct rr *rr, struct buf *b)
{
	struct reader r = reader_of(span_of(m.p + rr->at, rr->end - rr->at));

	if (r.n == 0)
		return BAD;
	while (reader_left(&r)) {
		uint8_t n = reader_u8(&r);
		struct span s = reader_take(&r, n);

		if (r.bad)
			return BAD;
		buf_put_u8(b, n);
		buf_put_span(b, s);
	}
	return COPIED;
}

/* RFC 8659, 4.1: flags, a tag of letters and digits, the value. */
static enum copied copy_caa(struct span m, const struct rr *rr, struct buf *b)
{
	struct reader r = reader_of(span_of(m.p + rr->at, rr->end - rr->at));
	uint8_t flags = reader_u8(&r);
	struct span tag = reader_take(&r, reader_u8(&r));

	if (r.bad || tag.n == 0)
		return BAD;
	for (size_t i = 0; i < tag.n; i++) {
		uint8_t lower = tag.p[i] | 0x20;

		if (!(lower >= 'a' && lower <= 'z') && !(tag.p[i] >= '0' && tag.p[i] <= '9'))
			return BAD;
	}
	buf_put_u8(b, flags);
	buf_put_u8(b, (uint8_t)tag.n);
	buf_put_span(b, tag);
	buf_put_span(b, reader_take(&r, reader_left(&r)));
	return COPIED;
}

static enum copied copy_svcb(struct span m, const struct rr *rr, struct buf *b)
{
	struct dns_svcb s;

	if (!dns_svcb_parse(m, rr->at, rr->end, &s))
		return BAD;
	if (!is_host_name(&s.target) || s.unknown_mandatory)
		return LEFT_OUT;
	dns_svcb_put(b, &s);
	return COPIED;
}

static enum copied copy_rdata(struct span m, const struct rr *rr, struct buf *b)
{
	switch (rr->type) {
	case DNS_NS:
	case DNS_CNAME:
	case DNS_PTR:
		return copy_with_name(m, rr, 0, b);
	case DNS_MX:
		return copy_with_name(m, rr, 2, b);
	case DNS_SRV:
		return copy_with_name(m, rr, 6, b);
	case DNS_SOA:
		return copy_soa(m, rr, b);
	case DNS_TXT:
		return copy_txt(m, rr, b);
	case DNS_CAA:
		return copy_caa(m, rr, b);
	case DNS_SVCB:
	case DNS_HTTPS:
		return copy_svcb(m, rr, b);
	default:
		return BAD;
	}
}

bool dns_type_is_known(uint16_t type)
{
	switch (type) {
	case DNS_A:
	case DNS_AAAA:
	case DNS_NS:
	case DNS_CNAME:
	case DNS_PTR:
	case DNS_MX:
	case DNS_SRV:
	case DNS_SOA:
	case DNS_TXT:
	case DNS_CAA:
	case DNS_SVCB:
	case DNS_HTTPS:
		return true;
	default:
		return false;
	}
}

static bool keep_addr(struct span m, const struct rr *rr, struct dns_message *out)
{
	size_t n = rr->end - rr->at;

	if (n != (rr->type == DNS_A ? 4u : 16u))
		return false;
	if (out->n_addrs < DNS_ADDRS_MAX)
		out->addrs[out->n_addrs++] =
			n == 4 ? addr_from_v4(m.p + rr->at) : addr_from_v6(m.p + rr->at);
	return true;
}

/* What does not fit into the store is too much for any use: the message is refused whole. */
static bool keep_record(struct span m, const struct rr *rr, struct dns_message *out)
{
	size_t from = out->store.n;

	if (out->n_records == DNS_RECORDS_MAX)
		return true;
	switch (copy_rdata(m, rr, &out->store)) {
	case COPIED:
		out->records[out->n_records++] = (struct dns_record){
			rr->ttl, span_of(out->store.p + from, out->store.n - from)};
		return !out->store.full;
	case LEFT_OUT:
		return true;
	default:
		return false;
	}
}

static bool keep(struct span m, const struct rr *rr, struct dns_message *out)
{
	if (rr->ttl < out->ttl)
		out->ttl = rr->ttl;
	if (rr->type == DNS_A || rr->type == DNS_AAAA)
		return keep_addr(m, rr, out);
	return keep_record(m, rr, out);
}

static bool is_owned_by(struct span m, const struct rr *rr, const struct dns_wire_name *name)
{
	struct dns_wire_name owner;
	size_t end;

	return dns_name_expand(m, rr->owner_at, &owner, &end) && dns_name_equal(&owner, name);
}

enum link { LINK_END, LINK_ANSWERED, LINK_FOLLOWED, LINK_BAD };

/*
 * One link: keeps the records of `type` that the name owns, or else puts the target of its CNAME
 * into *name.
 */
static enum link follow_link(struct span m, const struct rrs *rrs, struct dns_wire_name *name,
			     struct dns_message *out)
{
	const struct rr *alias = NULL;
	bool answered = false;
	size_t at;

	for (size_t i = 0; i < rrs->n; i++) {
		const struct rr *rr = &rrs->rr[i];

		if ((rr->type != out->type && rr->type != DNS_CNAME) || !is_owned_by(m, rr, name))
			continue;
		if (rr->type != out->type) {
			alias = rr;
			continue;
		}
		answered = true;
		if (!keep(m, rr, out))
			return LINK_BAD;
	}
	if (answered)
		return LINK_ANSWERED;
	if (!alias)
		return LINK_END;
	at = alias->at;
	if (!take_name(m, alias, &at, name) || at != alias->end)
		return LINK_BAD;
	if (alias->ttl < out->ttl)
		out->ttl = alias->ttl;
	return LINK_FOLLOWED;
}

/* From *name to the end of the chain, which *name then is. */
static enum dns_response follow_chain(struct span m, const struct rrs *rrs,
				      struct dns_wire_name *name, struct dns_message *out)
{
	for (unsigned hops = 0; hops <= CHAIN_MAX; hops++) {
		switch (follow_link(m, rrs, name, out)) {
		case LINK_FOLLOWED:
			break;
		case LINK_BAD:
			return DNS_RESPONSE_MALFORMED;
		default:
			return DNS_RESPONSE_OK;
		}
	}
	return DNS_RESPONSE_LOOP;
}

static uint32_t read_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* RFC 2308, 5: the lesser of the SOA's TTL and its last field. */
static bool keep_soa(struct span m, const struct rr *rr, struct dns_message *out)
{
	size_t from = out->store.n, end;
	uint32_t minimum;

	switch (copy_soa(m, rr, &out->store)) {
	case COPIED:
		break;
	case LEFT_OUT:
		return true;
	default:
		return false;
	}
	minimum = sane_ttl(read_u32(m.p + rr->end - 4));
	out->ttl = rr->ttl < minimum ? rr->ttl : minimum;
	out->soa = (struct dns_record){out->ttl, span_of(out->store.p + from, out->store.n - from)};
	out->has_soa = dns_name_expand(m, rr->owner_at, &out->soa_zone, &end);
	return !out->store.full;
}

/* The SOA of a zone that holds the name at the end of the chain; others say nothing about it. */
static bool parse_authority(struct span m, struct reader *r, unsigned count,
			    const struct dns_wire_name *name, struct dns_message *out)
{
	struct dns_wire_name zone;
	size_t end;
	struct rr rr;

	out->ttl = NEGATIVE_TTL;
	for (unsigned i = 0; i < count && !out->has_soa; i++) {
		if (!parse_rr(m, r, &rr))
			return false;
		if (rr.type != DNS_SOA || rr.class != DNS_CLASS_IN)
			continue;
		if (!dns_name_expand(m, rr.owner_at, &zone, &end))
			return false;
		if (dns_name_is_at_or_below(name, &zone) && !keep_soa(m, &rr, out))
			return false;
	}
	return true;
}

/* The question comes back as it was asked, but for case (RFC 5452, 4.2). */
static bool check_question(struct span m, struct reader *r, const struct dns_wire_name *name,
			   uint16_t type)
{
	struct dns_wire_name asked;
	size_t end;

	if (!dns_name_expand(m, r->at, &asked, &end))
		return false;
	reader_take(r, end - r->at);
	return dns_name_equal(&asked, name) && reader_u16(r) == type &&
	       reader_u16(r) == DNS_CLASS_IN && !r->bad;
}

static enum dns_response check_header(uint16_t flags, const uint16_t count[4],
				      struct dns_message *out)
{
	if (!(flags & FLAG_QR) || flags & OPCODE)
		return DNS_RESPONSE_MALFORMED;
	out->rcode = flags & 0xf;
	/* From a server that knows EDNS it is about something else (RFC 6891, 7). */
	if (out->rcode == DNS_FORMERR && count[3] == 0)
		return DNS_RESPONSE_NO_EDNS;
	if (out->rcode != DNS_NOERROR && out->rcode != DNS_NXDOMAIN)
		return DNS_RESPONSE_FAILED;
	return flags & FLAG_TC || count[0] != 1 ? DNS_RESPONSE_MALFORMED : DNS_RESPONSE_OK;
}

static void message_init(struct dns_message *out, uint16_t type)
{
	memset(out, 0, offsetof(struct dns_message, addrs));
	out->n_records = 0;
	out->has_soa = false;
	out->type = type;
	out->ttl = UINT32_MAX;
	out->store = buf_of(out->octets, sizeof(out->octets));
}

enum dns_response dns_response_parse(struct span m, const struct name *name, uint16_t type,
				     struct dns_message *out)
{
	struct reader r = reader_of(m);
	struct dns_wire_name at_end;
	enum dns_response e;
	uint16_t flags, count[4];
	struct rrs rrs;

	message_init(out, type);
	reader_u16(&r); /* the id: compared by who sent the question */
	flags = reader_u16(&r);
	for (size_t i = 0; i < 4; i++)
		count[i] = reader_u16(&r);
	if (r.bad)
		return DNS_RESPONSE_MALFORMED;
	e = check_header(flags, count, out);
	if (e != DNS_RESPONSE_OK)
		return e;
	dns_name_to_wire(name, &at_end);
	if (!check_question(m, &r, &at_end, type) || !parse_answer_section(m, &r, count[1], &rrs))
		return DNS_RESPONSE_MALFORMED;
	e = follow_chain(m, &rrs, &at_end, out);
	if (e != DNS_RESPONSE_OK || out->n_addrs || out->n_records)
		return e;
	return parse_authority(m, &r, count[2], &at_end, out) ? DNS_RESPONSE_OK
							      : DNS_RESPONSE_MALFORMED;
}
