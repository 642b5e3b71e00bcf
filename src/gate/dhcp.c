/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dhcp.h"

enum {
	BOOT_REQUEST = 1,
	BOOT_REPLY = 2,
	ETHERNET = 1,
	FLAG_BROADCAST = 0x8000,
	CHADDR = 16,
	SNAME = 64,
	FILE_NAME = 128,
	LEAST = 300, /* RFC 951: clients have refused less */
};

static const uint32_t magic = 0x63825363;

/* RFC 2132; 80: RFC 4039. */
enum option {
	OPTION_PAD = 0,
	OPTION_MASK = 1,
	OPTION_ROUTER = 3,
	OPTION_DNS = 6,
	OPTION_MTU = 26,
	OPTION_BROADCAST = 28,
	OPTION_REQUESTED = 50,
	OPTION_LEASE = 51,
	OPTION_OVERLOAD = 52,
	OPTION_TYPE = 53,
	OPTION_SERVER = 54,
	OPTION_WANTED = 55,
	OPTION_T1 = 58,
	OPTION_T2 = 59,
	OPTION_CLIENT_ID = 61,
	OPTION_RAPID_COMMIT = 80,
	OPTION_END = 255,
};

enum { OVERLOAD_FILE = 1, OVERLOAD_SNAME = 2 };

/* ---- what a client says ---- */

struct parse {
	struct dhcp_message *out;
	uint8_t overload;
	uint8_t seen[32]; /* a bit for each option that was there */
};

static bool read_type(struct parse *p, struct span v)
{
	if (v.n != 1 || v.p[0] < DHCP_DISCOVER || v.p[0] > DHCP_INFORM)
		return false;
	p->out->type = (enum dhcp_type)v.p[0];
	return p->out->type != DHCP_OFFER && p->out->type != DHCP_ACK && p->out->type != DHCP_NAK;
}

static bool read_addr(struct dhcp_option_addr *out, struct span v)
{
	if (v.n != 4)
		return false;
	*out = (struct dhcp_option_addr){true, addr_from_v4(v.p)};
	return true;
}

static bool read_option(struct parse *p, uint8_t code, struct span v)
{
	struct dhcp_message *m = p->out;

	switch (code) {
	case OPTION_REQUESTED:
		return read_addr(&m->requested, v);
	case OPTION_SERVER:
		return read_addr(&m->server, v);
	case OPTION_TYPE:
		return read_type(p, v);
	case OPTION_OVERLOAD:
		p->overload = v.n == 1 ? v.p[0] : 0;
		return p->overload >= 1 && p->overload <= (OVERLOAD_FILE | OVERLOAD_SNAME);
	case OPTION_WANTED:
		m->wanted = v;
		return v.n >= 1;
	case OPTION_CLIENT_ID:
		m->client_id = v;
		return v.n >= 2; /* 9.14 */
	case OPTION_RAPID_COMMIT:
		m->rapid_commit = true;
		return v.n == 0;
	default:
		return true;
	}
}

static bool is_read(uint8_t code)
{
	return code == OPTION_REQUESTED || code == OPTION_SERVER || code == OPTION_TYPE ||
	       code == OPTION_OVERLOAD || code == OPTION_WANTED || code == OPTION_CLIENT_ID ||
	       code == OPTION_RAPID_COMMIT;
}

/*
 * An option that is there twice is one that was too long for its length octet (RFC 3396), which none
 * of those read here is.
 */
static bool is_new(struct parse *p, uint8_t code)
{
	uint8_t *octet = &p->seen[code / 8], bit = (uint8_t)(1 << code % 8);
	bool new = !(*octet & bit);

	*octet |= bit;
	return new || !is_read(code);
}

/* To the end option, or to the end of the field: older clients leave the end out. */
static bool read_options(struct parse *p, struct span field)
{
	struct reader r = reader_of(field);

	while (reader_left(&r) > 0) {
		uint8_t code = reader_u8(&r);
		struct span v;

		if (code == OPTION_PAD)
			continue;
		if (code == OPTION_END)
			break;
		v = reader_take(&r, reader_u8(&r));
		if (r.bad || !is_new(p, code) || !read_option(p, code, v))
			return false;
	}
	return true;
}

/* The fields before the options (2); `file` and `sname` may hold options. */
static bool read_fixed(struct reader *r, struct dhcp_message *out, struct span *sname,
		       struct span *file)
{
	uint8_t op = reader_u8(r), hardware = reader_u8(r), length = reader_u8(r);
	static const struct addr none = {{[10] = 0xff, [11] = 0xff}};
	struct span ciaddr, giaddr, chaddr;

	reader_u8(r); /* hops */
	out->xid = reader_u32(r);
	reader_u16(r); /* secs */
	out->broadcast = reader_u16(r) & FLAG_BROADCAST;
	ciaddr = reader_take(r, 4);
	reader_take(r, 8); /* yiaddr, siaddr: the server's */
	giaddr = reader_take(r, 4);
	chaddr = reader_take(r, CHADDR);
	*sname = reader_take(r, SNAME);
	*file = reader_take(r, FILE_NAME);
	if (reader_u32(r) != magic || r->bad)
		return false;
	out->ciaddr = addr_from_v4(ciaddr.p);
	memcpy(out->mac, chaddr.p, DHCP_MAC);
	out->requested.addr = out->server.addr = none;
	return op == BOOT_REQUEST && hardware == ETHERNET && length == DHCP_MAC &&
	       giaddr.p[0] == 0 && giaddr.p[1] == 0 && giaddr.p[2] == 0 && giaddr.p[3] == 0;
}

bool dhcp_parse(struct span octets, struct dhcp_message *out)
{
	struct reader r = reader_of(octets);
	struct parse p = {.out = out};
	struct span sname, file;

	*out = (struct dhcp_message){0};
	if (octets.n > DHCP_OCTETS_MAX || !read_fixed(&r, out, &sname, &file) ||
	    !read_options(&p, reader_take(&r, reader_left(&r))))
		return false;
	/* In this order (4.1); what the fields themselves say of overloading counts no more. */
	if ((p.overload & OVERLOAD_FILE) && !read_options(&p, file))
		return false;
	if ((p.overload & OVERLOAD_SNAME) && !read_options(&p, sname))
		return false;
	return out->type != 0;
}

/* ---- what the server says to it ---- */

static bool is_none(const struct addr *a)
{
	static const uint8_t none[4];

	return memcmp(addr_v4_octets(a), none, 4) == 0;
}

static bool is_another(const struct addr *a, const struct dhcp_lease *l)
{
	return !addr_equal(a, &l->client);
}

/*
 * RFC 2131, 4.3.2: one that selects or has started again names the address in an option, one that
 * renews in ciaddr. Clients that do both are right if both are.
 */
static enum dhcp_answer answer_to_request(const struct dhcp_message *m, const struct dhcp_lease *l)
{
	bool has = !is_none(&m->ciaddr);

	if (m->server.present && !addr_equal(&m->server.addr, &l->server))
		return DHCP_ANSWER_NONE; /* it took another server's offer */
	if (!m->requested.present && !has)
		return DHCP_ANSWER_WRONG;
	if ((m->requested.present && is_another(&m->requested.addr, l)) ||
	    (has && is_another(&m->ciaddr, l)))
		return DHCP_ANSWER_NAK;
	return DHCP_ANSWER_ACK;
}

enum dhcp_answer dhcp_answer_to(const struct dhcp_message *m, const struct dhcp_lease *l)
{
	switch (m->type) {
	case DHCP_DISCOVER:
		return m->rapid_commit ? DHCP_ANSWER_ACK : DHCP_ANSWER_OFFER;
	case DHCP_REQUEST:
		return answer_to_request(m, l);
	case DHCP_INFORM:
		return addr_equal(&m->ciaddr, &l->client) ? DHCP_ANSWER_INFORM : DHCP_ANSWER_WRONG;
	case DHCP_RELEASE:
	case DHCP_DECLINE:
		return DHCP_ANSWER_NONE;
	default:
		return DHCP_ANSWER_WRONG;
	}
}

struct addr dhcp_answer_goes_to(const struct dhcp_message *m, const struct dhcp_lease *l,
				enum dhcp_answer a)
{
	static const uint8_t everybody[4] = {255, 255, 255, 255};
	bool has = addr_equal(&m->ciaddr, &l->client);

	if (a == DHCP_ANSWER_NAK || (m->broadcast && !has))
		return addr_from_v4(everybody);
	return l->client;
}

static void put_option(struct buf *b, enum option code, struct span v)
{
	buf_put_u8(b, (uint8_t)code);
	buf_put_u8(b, (uint8_t)v.n);
	buf_put_span(b, v);
}

static void put_u32(struct buf *b, enum option code, uint32_t v)
{
	uint8_t w[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

	put_option(b, code, span_of(w, 4));
}

static void put_addr(struct buf *b, enum option code, const struct addr *a)
{
	put_option(b, code, span_of(addr_v4_octets(a), 4));
}

static uint32_t mask_of(const struct dhcp_lease *l)
{
	return l->bits == 0 ? 0 : UINT32_MAX << (32 - l->bits);
}

/* A client without a list gets everything. */
static bool is_wanted(const struct dhcp_message *m, enum option code)
{
	return m->wanted.n == 0 || memchr(m->wanted.p, code, m->wanted.n);
}

static void put_network(struct buf *b, const struct dhcp_message *m, const struct dhcp_lease *l)
{
	const uint8_t *a = addr_v4_octets(&l->client);
	uint32_t own = (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3];
	uint8_t mtu[2] = {(uint8_t)(l->mtu >> 8), (uint8_t)l->mtu};

	/* The mask comes before the router (3.3). */
	put_u32(b, OPTION_MASK, mask_of(l));
	put_addr(b, OPTION_ROUTER, &l->server);
	put_addr(b, OPTION_DNS, &l->server);
	if (is_wanted(m, OPTION_MTU))
		put_option(b, OPTION_MTU, span_of(mtu, 2));
	if (is_wanted(m, OPTION_BROADCAST))
		put_u32(b, OPTION_BROADCAST, own | ~mask_of(l));
}

static void put_lease(struct buf *b, const struct dhcp_lease *l)
{
	put_u32(b, OPTION_LEASE, l->seconds);
	/* The defaults (4.4.5), for clients that do not work them out. */
	put_u32(b, OPTION_T1, l->seconds / 2);
	put_u32(b, OPTION_T2, l->seconds / 8 * 7);
}

static void put_options(struct buf *b, const struct dhcp_message *m, const struct dhcp_lease *l,
			enum dhcp_answer a)
{
	uint8_t type = a == DHCP_ANSWER_OFFER ? DHCP_OFFER
		       : a == DHCP_ANSWER_NAK ? DHCP_NAK
					      : DHCP_ACK;

	buf_put_u32(b, magic);
	put_option(b, OPTION_TYPE, span_of(&type, 1));
	put_addr(b, OPTION_SERVER, &l->server);
	if (a == DHCP_ANSWER_OFFER || a == DHCP_ANSWER_ACK)
		put_lease(b, l);
	if (a != DHCP_ANSWER_NAK)
		put_network(b, m, l);
	if (a == DHCP_ANSWER_ACK && m->type == DHCP_DISCOVER)
		put_option(b, OPTION_RAPID_COMMIT, span_of(NULL, 0));
	if (m->client_id.n) /* RFC 6842 */
		put_option(b, OPTION_CLIENT_ID, m->client_id);
	buf_put_u8(b, OPTION_END);
}

static void put_zeroes(struct buf *b, size_t n)
{
	static const uint8_t zeroes[LEAST];

	buf_put(b, zeroes, n);
}

void dhcp_build(struct buf *b, const struct dhcp_message *m, const struct dhcp_lease *l,
		enum dhcp_answer a)
{
	bool given = a == DHCP_ANSWER_OFFER || a == DHCP_ANSWER_ACK;
	size_t begin = b->n;

	buf_put_u8(b, BOOT_REPLY);
	buf_put_u8(b, ETHERNET);
	buf_put_u8(b, DHCP_MAC);
	buf_put_u8(b, 0); /* hops */
	buf_put_u32(b, m->xid);
	buf_put_u16(b, 0); /* secs */
	buf_put_u16(b, m->broadcast ? FLAG_BROADCAST : 0);
	buf_put(b, addr_v4_octets(&m->ciaddr), a == DHCP_ANSWER_NAK ? 0 : 4);
	put_zeroes(b, a == DHCP_ANSWER_NAK ? 4 : 0);
	buf_put(b, addr_v4_octets(&l->client), given ? 4 : 0);
	put_zeroes(b, given ? 0 : 4);
	put_zeroes(b, 4 + 4); /* siaddr: nothing to boot from; giaddr */
	buf_put(b, m->mac, DHCP_MAC);
	put_zeroes(b, CHADDR - DHCP_MAC + SNAME + FILE_NAME);
	put_options(b, m, l, a);
	if (b->n - begin < LEAST)
		put_zeroes(b, LEAST - (b->n - begin));
}
