/* SPDX-License-Identifier: Apache-2.0 */
/* DHCPv4 (RFC 2131, RFC 2132): what clients say, and what they are told, octet for octet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gate/dhcp.h"

enum { FIXED = 236, SNAME_AT = 44, FILE_AT = 108, COOKIE = 4 };

static struct addr addr(const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return a;
}

static struct dhcp_lease lease(void)
{
	return (struct dhcp_lease){
		.server = addr("192.0.0.1"),
		.client = addr("192.0.0.2"),
		.bits = 29,
		.mtu = 1500,
		.seconds = 604800,
	};
}

/* ---- messages of clients ---- */

struct wire {
	uint8_t octets[1600];
	size_t n;
};

static struct wire wire(const char *options, size_t n)
{
	struct wire w = {.octets = {1, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef}};
	static const uint8_t mac[6] = {0x02, 's', 'g', 0, 0, 2},
			     cookie[COOKIE] = {0x63, 0x82, 0x53, 0x63};

	memcpy(w.octets + 28, mac, sizeof(mac));
	memcpy(w.octets + FIXED, cookie, COOKIE);
	memcpy(w.octets + FIXED + COOKIE, options, n);
	w.n = FIXED + COOKIE + n;
	return w;
}
#define WIRE(options) wire(options, sizeof(options) - 1)

/* From memory of just that size, for AddressSanitizer; spans stay good for the test's life. */
static bool parse(const struct wire *w, size_t n, struct dhcp_message *m)
{
	static uint8_t *p;

	free(p);
	p = malloc(n ? n : 1);
	assert_non_null(p);
	memcpy(p, w->octets, n);
	return dhcp_parse(span_of(p, n), m);
}

static bool is_parsed(const struct wire *w)
{
	struct dhcp_message m;

	return parse(w, w->n, &m);
}

#define DISCOVER "\x35\1\1"
#define REQUEST	 "\x35\1\3"
#define OWN	 "\x32\4\300\0\0\2"
#define ANOTHER	 "\x32\4\300\250\1\5"
#define SERVER	 "\x36\4\300\0\0\1"
#define OTHERS	 "\x36\4\300\250\1\1"
#define END	 "\xff"

static void fields_of_a_message(void **state)
{
	struct wire w = WIRE("\0\0" DISCOVER OWN SERVER "\x37\4\1\3\6\x1a"
			     "\x3d\7\1\2sg\0\0\2"
			     "\x50\0" END);
	struct dhcp_message m;

	w.octets[10] = 0x80;
	w.octets[12] = 192;
	w.octets[15] = 2;
	assert_true(parse(&w, w.n, &m));
	assert_int_equal(m.type, DHCP_DISCOVER);
	assert_int_equal(m.xid, 0xdeadbeef);
	assert_true(m.broadcast && m.rapid_commit);
	assert_memory_equal(m.mac, "\2sg\0\0\2", 6);
	assert_true(m.requested.present && m.server.present);
	assert_memory_equal(addr_v4_octets(&m.requested.addr), "\300\0\0\2", 4);
	assert_memory_equal(addr_v4_octets(&m.ciaddr), "\300\0\0\2", 4);
	assert_int_equal(m.client_id.n, 7);
	assert_memory_equal(m.wanted.p, "\1\3\6\x1a", 4);
}

/* Also without an end; and every shorter one ends in an option, or before the type. */
static void cut_anywhere(void **state)
{
	struct wire w = WIRE(DISCOVER OWN);
	struct dhcp_message m;

	for (size_t n = 0; n < w.n; n++)
		assert_int_equal(parse(&w, n, &m), n == FIXED + COOKIE + 3);
	assert_true(is_parsed(&w));
	memset(w.octets + w.n, 0, sizeof(w.octets) - w.n);
	w.n = DHCP_OCTETS_MAX;
	assert_true(is_parsed(&w));
	w.n = DHCP_OCTETS_MAX + 1;
	assert_false(is_parsed(&w));
}

static void not_of_a_client(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {
		{0, 2},					      /* a reply */
		{0, 0},	 {1, 6},     {2, 16},	     {24, 1}, /* giaddr: relayed */
		{27, 1}, {FIXED, 0}, {FIXED + 3, 0},
	};
	struct wire w;

	for (size_t i = 0; i < sg_array_len(wrong); i++) {
		w = WIRE(DISCOVER END);
		assert_true(is_parsed(&w));
		w.octets[wrong[i].at] = wrong[i].value;
		assert_false(is_parsed(&w));
	}
}

static void malformed_options(void **state)
{
#define ROW(s)                    \
	{                         \
		s, sizeof(s) - 1, \
	}
	static const struct {
		const char *options;
		size_t n;
	} rows[] = {
		ROW(END), /* BOOTP */
		ROW(""),
		ROW("\x35\1\0" END),
		ROW("\x35\1\x9" END),
		ROW("\x35\1\2" END), /* a server's */
		ROW("\x35\1\5" END),
		ROW("\x35\1\6" END),
		ROW("\x35\2\1\1" END),
		ROW("\x35\0" END),
		ROW(DISCOVER "\x32\3\1\2\3" END),
		ROW(DISCOVER "\x36\5\1\2\3\4\5" END),
		ROW(DISCOVER "\x32\xff\1\2\3" END),
		ROW(DISCOVER "\x32"),
		ROW(DISCOVER "\x3d\1\1" END),
		ROW(DISCOVER "\x3d\0" END),
		ROW(DISCOVER "\x37\0" END),
		ROW(DISCOVER "\x50\1\1" END),
		ROW(DISCOVER "\x34\1\0" END),
		ROW(DISCOVER "\x34\1\4" END),
		ROW(DISCOVER "\x34\2\1\1" END),
		ROW(DISCOVER DISCOVER END),
		ROW(DISCOVER OWN OWN END),
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct wire w = wire(rows[i].options, rows[i].n);

		assert_false(is_parsed(&w));
	}
}

static void what_is_passed_over(void **state)
{
	/* Options that are not read, twice or empty; and all that comes after the end. */
	struct wire w = WIRE(DISCOVER "\x0c\4name\x0c\0\x51\0\x39\2\5\xdc" END "\x35\1\3\x32\1");

	assert_true(is_parsed(&w));
}

/* RFC 2132, 9.3: in `file`, then in `sname`. */
static void overloaded(void **state)
{
	struct wire w = WIRE("\x34\1\3" END);
	struct dhcp_message m;

	memcpy(w.octets + FILE_AT, REQUEST END, 4);
	memcpy(w.octets + SNAME_AT, OWN END, 7);
	assert_true(parse(&w, w.n, &m));
	assert_int_equal(m.type, DHCP_REQUEST);
	assert_true(m.requested.present);
	w.octets[FIXED + COOKIE + 2] = 1;
	assert_true(parse(&w, w.n, &m));
	assert_false(m.requested.present);
	w.octets[FIXED + COOKIE + 2] = 2;
	assert_false(is_parsed(&w));
	/* An option that runs out of its field. */
	w = WIRE("\x34\1\1" DISCOVER END);
	memcpy(w.octets + FILE_AT, "\x0c\xff", 2);
	assert_false(is_parsed(&w));
	/* One that says it twice, or that of another. */
	memcpy(w.octets + FILE_AT, "\x34\1\1" END, 4);
	assert_false(is_parsed(&w));
}

/* ---- what is said to them ---- */

static enum dhcp_answer answer(const struct wire *w, struct dhcp_message *m)
{
	struct dhcp_lease l = lease();

	assert_true(parse(w, w->n, m));
	return dhcp_answer_to(m, &l);
}

static void with_ciaddr(struct wire *w, const char *text)
{
	struct addr a = addr(text);

	memcpy(w->octets + 12, addr_v4_octets(&a), 4);
}

static void states_of_a_client(void **state)
{
#define CLIENT(s, ciaddr, answer)                 \
	{                                         \
		s, sizeof(s) - 1, ciaddr, answer, \
	}
	static const struct {
		const char *options;
		size_t n;
		const char *ciaddr;
		enum dhcp_answer answer;
	} rows[] = {
		CLIENT(DISCOVER END, "0.0.0.0", DHCP_ANSWER_OFFER),
		CLIENT(DISCOVER ANOTHER END, "0.0.0.0", DHCP_ANSWER_OFFER),
		CLIENT(DISCOVER "\x50\0" END, "0.0.0.0", DHCP_ANSWER_ACK),
		/* selecting */
		CLIENT(REQUEST OWN SERVER END, "0.0.0.0", DHCP_ANSWER_ACK),
		CLIENT(REQUEST ANOTHER SERVER END, "0.0.0.0", DHCP_ANSWER_NAK),
		CLIENT(REQUEST OWN OTHERS END, "0.0.0.0", DHCP_ANSWER_NONE),
		CLIENT(REQUEST ANOTHER OTHERS END, "0.0.0.0", DHCP_ANSWER_NONE),
		/* started again */
		CLIENT(REQUEST OWN END, "0.0.0.0", DHCP_ANSWER_ACK),
		CLIENT(REQUEST ANOTHER END, "0.0.0.0", DHCP_ANSWER_NAK),
		/* renewing, rebinding */
		CLIENT(REQUEST END, "192.0.0.2", DHCP_ANSWER_ACK),
		CLIENT(REQUEST END, "192.168.1.5", DHCP_ANSWER_NAK),
		CLIENT(REQUEST OWN END, "192.0.0.2", DHCP_ANSWER_ACK),
		CLIENT(REQUEST OWN END, "192.168.1.5", DHCP_ANSWER_NAK),
		CLIENT(REQUEST ANOTHER END, "192.0.0.2", DHCP_ANSWER_NAK),
		CLIENT(REQUEST END, "0.0.0.0", DHCP_ANSWER_WRONG),
		CLIENT("\x35\1\4" OWN SERVER END, "0.0.0.0", DHCP_ANSWER_NONE),
		CLIENT("\x35\1\7" SERVER END, "192.0.0.2", DHCP_ANSWER_NONE),
		CLIENT("\x35\1\x8" END, "192.0.0.2", DHCP_ANSWER_INFORM),
		CLIENT("\x35\1\x8" END, "192.0.0.3", DHCP_ANSWER_WRONG),
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct wire w = wire(rows[i].options, rows[i].n);
		struct dhcp_message m;

		with_ciaddr(&w, rows[i].ciaddr);
		assert_int_equal(answer(&w, &m), rows[i].answer);
	}
}

static void where_answers_go(void **state)
{
	struct dhcp_lease l = lease();
	struct wire w = WIRE(DISCOVER END);
	struct dhcp_message m;
	struct addr a;

	assert_true(parse(&w, w.n, &m));
	a = dhcp_answer_goes_to(&m, &l, DHCP_ANSWER_OFFER);
	assert_true(addr_equal(&a, &l.client));
	m.broadcast = true;
	a = dhcp_answer_goes_to(&m, &l, DHCP_ANSWER_OFFER);
	assert_memory_equal(addr_v4_octets(&a), "\xff\xff\xff\xff", 4);
	/* It has the address: the bit counts no more (4.1). */
	m.ciaddr = l.client;
	a = dhcp_answer_goes_to(&m, &l, DHCP_ANSWER_ACK);
	assert_true(addr_equal(&a, &l.client));
	a = dhcp_answer_goes_to(&m, &l, DHCP_ANSWER_NAK);
	assert_memory_equal(addr_v4_octets(&a), "\xff\xff\xff\xff", 4);
}

/* The octets of an answer: the fixed part is looked at apart, this is from the cookie on. */
static void expect(const struct wire *w, enum dhcp_answer a, const char *options, size_t n)
{
	static const uint8_t zeroes[DHCP_REPLY_MAX];
	struct dhcp_lease l = lease();
	uint8_t octets[DHCP_REPLY_MAX];
	struct buf b = buf_of(octets, sizeof(octets));
	bool given = a == DHCP_ANSWER_OFFER || a == DHCP_ANSWER_ACK;
	struct dhcp_message m;

	assert_true(parse(w, w->n, &m));
	dhcp_build(&b, &m, &l, a);
	assert_false(b.full);
	assert_true(b.n >= 300);
	assert_memory_equal(octets, "\2\1\6\0\xde\xad\xbe\xef\0\0", 10);
	assert_memory_equal(octets + 10, w->octets + 10, 2);
	assert_memory_equal(octets + 16, given ? "\300\0\0\2" : "\0\0\0\0", 4);
	assert_memory_equal(octets + 20, zeroes, 8);
	assert_memory_equal(octets + 28, w->octets + 28, 16);
	assert_memory_equal(octets + SNAME_AT, zeroes, 64 + 128);
	assert_memory_equal(octets + FIXED, "\x63\x82\x53\x63", 4);
	assert_memory_equal(octets + FIXED + COOKIE, options, n);
	assert_memory_equal(octets + FIXED + COOKIE + n, zeroes, b.n - FIXED - COOKIE - n);
}
#define EXPECT(w, a, options) expect(w, a, options, sizeof(options) - 1)

#define LEASE	"\x33\4\0\x09\x3a\x80\x3a\4\0\4\x9d\x40\x3b\4\0\x08\x13\x30"
#define NETWORK "\1\4\xff\xff\xff\xf8\3\4\300\0\0\1\6\4\300\0\0\1"

static void octets_of_answers(void **state)
{
	struct wire w = WIRE(DISCOVER END);

	EXPECT(&w, DHCP_ANSWER_OFFER,
	       "\x35\1\2" SERVER LEASE NETWORK "\x1a\2\5\xdc\x1c\4\300\0\0\7" END);
	w = WIRE(DISCOVER "\x50\0" END);
	EXPECT(&w, DHCP_ANSWER_ACK,
	       "\x35\1\5" SERVER LEASE NETWORK "\x1a\2\5\xdc\x1c\4\300\0\0\7\x50\0" END);
	/* By its list; the identifier goes back (RFC 6842). */
	w = WIRE(REQUEST OWN "\x37\2\1\3\x3d\3\0ab" END);
	EXPECT(&w, DHCP_ANSWER_ACK, "\x35\1\5" SERVER LEASE NETWORK "\x3d\3\0ab" END);
	w.octets[10] = 0x80;
	EXPECT(&w, DHCP_ANSWER_NAK, "\x35\1\6" SERVER "\x3d\3\0ab" END);
	w = WIRE("\x35\1\x8\x37\1\x1a" END);
	EXPECT(&w, DHCP_ANSWER_INFORM, "\x35\1\5" SERVER NETWORK "\x1a\2\5\xdc" END);
}

static void fields_of_answers(void **state)
{
	struct wire w = WIRE(REQUEST END);
	struct dhcp_lease l = lease();
	uint8_t octets[DHCP_REPLY_MAX];
	struct buf b = buf_of(octets, sizeof(octets));
	struct dhcp_message m;

	with_ciaddr(&w, "192.0.0.2");
	assert_true(parse(&w, w.n, &m));
	dhcp_build(&b, &m, &l, DHCP_ANSWER_ACK);
	assert_memory_equal(octets + 12, "\300\0\0\2\300\0\0\2", 8);
	b = buf_of(octets, sizeof(octets));
	dhcp_build(&b, &m, &l, DHCP_ANSWER_NAK);
	assert_memory_equal(octets + 12, "\0\0\0\0\0\0\0\0", 8);
}

/* The longest identifier that there can be fits; and the edges of the mask. */
static void edges(void **state)
{
	struct wire w = WIRE(DISCOVER "\x3d\xff");
	struct dhcp_lease l = lease();
	uint8_t octets[DHCP_REPLY_MAX];
	struct buf b = buf_of(octets, sizeof(octets));
	struct dhcp_message m;

	memset(w.octets + w.n, 7, 255);
	w.n += 255;
	assert_true(parse(&w, w.n, &m));
	l.bits = 32;
	dhcp_build(&b, &m, &l, DHCP_ANSWER_ACK);
	assert_false(b.full);
	assert_non_null(memmem(octets, b.n, "\1\4\xff\xff\xff\xff", 6));
	l.bits = 0;
	b = buf_of(octets, sizeof(octets));
	dhcp_build(&b, &m, &l, DHCP_ANSWER_ACK);
	assert_non_null(memmem(octets, b.n, "\1\4\0\0\0\0\3", 7));
	assert_non_null(memmem(octets, b.n, "\x1c\4\xff\xff\xff\xff", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_a_message),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(not_of_a_client),
		cmocka_unit_test(malformed_options),
		cmocka_unit_test(what_is_passed_over),
		cmocka_unit_test(overloaded),
		cmocka_unit_test(states_of_a_client),
		cmocka_unit_test(where_answers_go),
		cmocka_unit_test(octets_of_answers),
		cmocka_unit_test(fields_of_answers),
		cmocka_unit_test(edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
