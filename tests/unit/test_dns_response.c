/* SPDX-License-Identifier: Apache-2.0 */
/* What an upstream server may say, and what of it is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "dns_wire.h"
#include "gate/dns_svcb.h"

enum { ANSWER = 0x8180 };

static struct wire w;
static struct dns_message message;

static void begin(const char *name, uint16_t type, unsigned rcode, uint16_t answers,
		  uint16_t authority)
{
	wire_header(&w, 7, (uint16_t)(ANSWER | rcode), 1, answers, authority, 0);
	wire_question(&w, name, type);
}

static enum dns_response parse(const char *name, uint16_t type)
{
	struct name n = wire_parse_name(name);
	uint8_t *exact = malloc(w.b.n ? w.b.n : 1);
	enum dns_response e;

	memcpy(exact, w.octets, w.b.n);
	e = dns_response_parse(span_of(exact, w.b.n), &n, type, &message);
	free(exact); /* nothing of the message is borrowed */
	return e;
}

static void expect(enum dns_response want, const char *name, uint16_t type)
{
	assert_int_equal(parse(name, type), want);
}

static void addresses_are_found(void **state)
{
	begin("a.example", DNS_A, 0, 2, 0);
	wire_data(&w, "A.EXAMPLE", DNS_A, 300, "\x5d\xb8\0\1", 4);
	wire_data(&w, "a.example", DNS_A, 200, "\x5d\xb8\0\2", 4);
	expect(DNS_RESPONSE_OK, "a.example", DNS_A);
	assert_int_equal(message.n_addrs, 2);
	assert_int_equal(message.ttl, 200);
	assert_int_equal(addr_v4_octets(&message.addrs[1])[3], 2);
}

/* cilium#30588: a chain to a CDN, in an order that is not the chain's. */
static void a_chain_is_followed_in_any_order(void **state)
{
	begin("www.shop.example", DNS_A, 0, 5, 0);
	wire_data(&w, "edge.cdn.example", DNS_A, 60, "\x5d\xb8\0\1", 4);
	wire_alias(&w, "shop.cdn.example", 20, "edge.cdn.example");
	wire_data(&w, "other.example", DNS_A, 1, "\x5d\xb8\0\x63", 4);
	wire_alias(&w, "www.shop.example", 600, "shop.cdn.example");
	wire_data(&w, "edge.cdn.example", DNS_A, 60, "\x5d\xb8\0\2", 4);
	expect(DNS_RESPONSE_OK, "www.shop.example", DNS_A);
	assert_int_equal(message.n_addrs, 2);
	assert_int_equal(message.ttl, 20);
	assert_int_equal(addr_v4_octets(&message.addrs[0])[3], 1);
}

static void a_loop_of_aliases_is_told(void **state)
{
	begin("a.example", DNS_A, 0, 2, 0);
	wire_alias(&w, "a.example", 60, "b.example");
	wire_alias(&w, "b.example", 60, "a.example");
	expect(DNS_RESPONSE_LOOP, "a.example", DNS_A);
	begin("a.example", DNS_A, 0, 1, 0);
	wire_alias(&w, "a.example", 60, "a.example");
	expect(DNS_RESPONSE_LOOP, "a.example", DNS_A);
}

static void too_long_a_chain_is_a_loop(void **state)
{
	for (int length = 16; length <= 17; length++) {
		char from[32], to[32];

		begin("n0.example", DNS_A, 0, (uint16_t)(length + 1), 0);
		for (int i = 0; i < length; i++) {
			snprintf(from, sizeof(from), "n%d.example", i);
			snprintf(to, sizeof(to), "n%d.example", i + 1);
			wire_alias(&w, from, 60, to);
		}
		wire_data(&w, to, DNS_A, 60, "\x5d\xb8\0\1", 4);
		expect(length == 16 ? DNS_RESPONSE_OK : DNS_RESPONSE_LOOP, "n0.example", DNS_A);
	}
}

static void an_alias_that_leads_nowhere_is_nodata(void **state)
{
	begin("a.example", DNS_AAAA, 0, 1, 1);
	wire_alias(&w, "a.example", 60, "b.example");
	wire_soa(&w, "example", 900, 40);
	expect(DNS_RESPONSE_OK, "a.example", DNS_AAAA);
	assert_int_equal(message.n_addrs, 0);
	assert_true(message.has_soa);
	assert_int_equal(message.ttl, 40); /* the lesser one (RFC 2308, 5) */
}

static void nxdomain_has_the_soa_of_its_zone(void **state)
{
	begin("no.such.example", DNS_A, DNS_NXDOMAIN, 0, 2);
	wire_soa(&w, "unrelated.test", 1, 1);
	wire_soa(&w, "example", 30, 300);
	expect(DNS_RESPONSE_OK, "no.such.example", DNS_A);
	assert_int_equal(message.rcode, DNS_NXDOMAIN);
	assert_true(wire_name_is(&message.soa_zone, "example"));
	assert_int_equal(message.ttl, 30);
	begin("no.such.example", DNS_A, DNS_NXDOMAIN, 0, 0);
	expect(DNS_RESPONSE_OK, "no.such.example", DNS_A);
	assert_false(message.has_soa);
}

static void failures_are_told_apart(void **state)
{
	static const unsigned rcodes[] = {2, 4, 5, 6, 9, 10};

	for (size_t i = 0; i < sg_array_len(rcodes); i++) {
		begin("a.example", DNS_A, rcodes[i], 0, 0);
		expect(DNS_RESPONSE_FAILED, "a.example", DNS_A);
	}
	wire_header(&w, 7, ANSWER | DNS_FORMERR, 0, 0, 0, 0);
	expect(DNS_RESPONSE_NO_EDNS, "a.example", DNS_A);
	wire_header(&w, 7, ANSWER | DNS_FORMERR, 0, 0, 0, 1);
	wire_opt(&w, 1232, 0, 0);
	expect(DNS_RESPONSE_FAILED, "a.example", DNS_A);
}

static void an_answer_to_another_question_is_none(void **state)
{
	begin("b.example", DNS_A, 0, 0, 0);
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A);
	begin("a.example", DNS_AAAA, 0, 0, 0);
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A);
	begin("a.example", DNS_A, 0, 0, 0);
	w.octets[2] &= 0x7f; /* a question, not an answer */
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A);
	begin("a.example", DNS_A, 0, 0, 0);
	w.octets[2] |= 0x02; /* still truncated after TCP */
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A);
	wire_header(&w, 7, ANSWER, 2, 0, 0, 0);
	wire_question(&w, "a.example", DNS_A);
	wire_question(&w, "a.example", DNS_A);
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A);
}

static void wrong_lengths_are_malformed(void **state)
{
	begin("a.example", DNS_A, 0, 1, 0);
	wire_data(&w, "a.example", DNS_A, 60, "\1\2\3\4\5", 5);
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A);
	begin("a.example", DNS_AAAA, 0, 1, 0);
	wire_data(&w, "a.example", DNS_AAAA, 60, "\1\2\3\4", 4);
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_AAAA);
	begin("a.example", DNS_A, 0, 2, 0);
	wire_data(&w, "a.example", DNS_A, 60, "\x5d\xb8\0\1", 4);
	expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A); /* one record is missing */
	for (size_t n = w.b.n; n-- > 0;) {
		w.b.n = n;
		expect(DNS_RESPONSE_MALFORMED, "a.example", DNS_A);
	}
}

static void more_than_sixteen_addresses_are_cut(void **state)
{
	begin("a.example", DNS_A, 0, 40, 0);
	for (uint8_t i = 0; i < 40; i++) {
		uint8_t octets[4] = {93, 184, 0, i};

		wire_data(&w, "a.example", DNS_A, 60, octets, 4);
	}
	expect(DNS_RESPONSE_OK, "a.example", DNS_A);
	assert_int_equal(message.n_addrs, DNS_ADDRS_MAX);
}

static void a_huge_ttl_counts_as_none(void **state)
{
	begin("a.example", DNS_A, 0, 1, 0);
	wire_data(&w, "a.example", DNS_A, 0x80000000, "\x5d\xb8\0\1", 4);
	expect(DNS_RESPONSE_OK, "a.example", DNS_A);
	assert_int_equal(message.ttl, 0);
}

static void expect_rdata(uint16_t type, const void *data, size_t n, const void *want, size_t want_n)
{
	begin("a.example", type, 0, 1, 0);
	wire_data(&w, "a.example", type, 60, data, n);
	expect(DNS_RESPONSE_OK, "a.example", type);
	assert_int_equal(message.n_records, 1);
	assert_int_equal(message.records[0].rdata.n, want_n);
	assert_memory_equal(message.records[0].rdata.p, want, want_n);
}

static void expect_same(uint16_t type, const void *data, size_t n)
{
	expect_rdata(type, data, n, data, n);
}

static void expect_malformed(uint16_t type, const void *data, size_t n)
{
	begin("a.example", type, 0, 1, 0);
	wire_data(&w, "a.example", type, 60, data, n);
	expect(DNS_RESPONSE_MALFORMED, "a.example", type);
}

static void expect_left_out(uint16_t type, const void *data, size_t n)
{
	begin("a.example", type, 0, 1, 0);
	wire_data(&w, "a.example", type, 60, data, n);
	expect(DNS_RESPONSE_OK, "a.example", type);
	assert_int_equal(message.n_records, 0);
}

#define LITERAL(s) s, sizeof(s) - 1

static void every_type_is_written_anew(void **state)
{
	/* 0xc00c is the name of the question: it is written out. */
	expect_rdata(DNS_MX, LITERAL("\0\12\4mail\xc0\x0c"), LITERAL("\0\12\4mail\1a\7example\0"));
	expect_rdata(DNS_NS, LITERAL("\2ns\xc0\x0c"), LITERAL("\2ns\1a\7example\0"));
	expect_rdata(DNS_CNAME, LITERAL("\1b\xc0\x0e"), LITERAL("\1b\7example\0"));
	expect_rdata(DNS_PTR, LITERAL("\1b\xc0\x0e"), LITERAL("\1b\7example\0"));
	expect_same(DNS_MX, LITERAL("\0\0\0")); /* RFC 7505: no mail here */
	expect_same(DNS_SRV, LITERAL("\0\1\0\2\x1f\x90\4host\7example\0"));
	expect_same(DNS_TXT, LITERAL("\6v=spf1\0\3abc"));
	expect_same(DNS_CAA, LITERAL("\0\5issueletsencrypt.org"));
	expect_rdata(
		DNS_SOA,
		LITERAL("\2ns\xc0\x0c\3a.b\xc0\x0c\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"),
		LITERAL("\2ns\1a\7example\0\3a.b\1a\7example\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"));
}

static void malformed_data_is_refused(void **state)
{
	expect_malformed(DNS_MX, LITERAL("\0"));
	expect_malformed(DNS_MX, LITERAL("\0\12\4mail"));
	expect_malformed(DNS_MX, LITERAL("\0\12\4mail\0more"));
	expect_malformed(DNS_MX, LITERAL("\0\12\xc0\x27")); /* forward */
	expect_malformed(DNS_SRV, LITERAL("\0\1\0\2\0"));
	expect_malformed(DNS_TXT, LITERAL(""));
	expect_malformed(DNS_TXT, LITERAL("\5abc"));
	expect_malformed(DNS_CAA, LITERAL("\0\0x"));
	expect_malformed(DNS_CAA, LITERAL("\0\3a-b"));
	expect_malformed(DNS_CAA, LITERAL("\0\x09issue"));
	expect_malformed(DNS_SOA, LITERAL("\0\0\0\0\0\1"));
	expect_malformed(DNS_NS, LITERAL("\x40"
					 "aaaa"));
}

static void names_of_no_host_are_left_out(void **state)
{
	expect_left_out(DNS_PTR, LITERAL("\7My Host\0"));
	expect_left_out(DNS_CNAME, LITERAL("\3a\0b\0"));
	expect_left_out(DNS_MX, LITERAL("\0\12\3a.b\0"));
}

/* --- SVCB and HTTPS --- */

static const struct addr v4[] = {{{[10] = 0xff, [11] = 0xff, 93, 184, 0, 1}},
				 {{[10] = 0xff, [11] = 0xff, 93, 184, 0, 2}}};
static const struct addr v6[] = {{{0x2a, [15] = 1}}};

static void expect_rewritten(const struct dns_svcb_admitted *a, const void *data, size_t n,
			     const void *want, size_t want_n)
{
	uint8_t octets[2048];
	struct buf b = buf_of(octets, sizeof(octets));

	begin("a.example", DNS_HTTPS, 0, 1, 0);
	wire_data(&w, "a.example", DNS_HTTPS, 60, data, n);
	expect(DNS_RESPONSE_OK, "a.example", DNS_HTTPS);
	assert_int_equal(message.n_records, 1);
	assert_int_equal(dns_svcb_rewrite(message.records[0].rdata, a, &b), want != NULL);
	assert_int_equal(b.n, want_n);
	if (want)
		assert_memory_equal(b.p, want, want_n);
}

static void ech_and_quic_are_taken_out(void **state)
{
	const struct dns_svcb_admitted none = {0}, quic = {.quic = true};

	expect_rewritten(&none,
			 LITERAL("\0\1\0"
				 "\0\1\0\6\2h3\2h2"
				 "\0\5\0\3ech"),
			 LITERAL("\0\1\0"
				 "\0\1\0\3\2h2"));
	expect_rewritten(&none,
			 LITERAL("\0\1\0"
				 "\0\1\0\x0f\5h3-29\2h2\5h3-27"),
			 LITERAL("\0\1\0"
				 "\0\1\0\3\2h2"));
	expect_rewritten(&quic,
			 LITERAL("\0\1\0"
				 "\0\1\0\6\2h3\2h2"
				 "\0\5\0\3ech"),
			 LITERAL("\0\1\0"
				 "\0\1\0\6\2h3\2h2"));
	/* Only QUIC, with HTTP/1.1 as the silent default, and without. */
	expect_rewritten(&none,
			 LITERAL("\0\1\0"
				 "\0\1\0\3\2h3"),
			 LITERAL("\0\1\0"));
	expect_rewritten(&none,
			 LITERAL("\0\1\0"
				 "\0\1\0\3\2h3"
				 "\0\2\0\0"),
			 NULL, 0);
}

static void hints_are_only_vetted_addresses(void **state)
{
	const struct dns_svcb_admitted none = {0};
	const struct dns_svcb_admitted both = {.v4 = v4, .n_v4 = 2, .v6 = v6, .n_v6 = 1};
	static const char record[] = "\0\1\0"
				     "\0\4\0\4\12\0\0\1"
				     "\0\6\0\x10\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1";

	expect_rewritten(&none, LITERAL(record), LITERAL("\0\1\0"));
	expect_rewritten(&both, LITERAL(record),
			 LITERAL("\0\1\0"
				 "\0\4\0\x8\x5d\xb8\0\1\x5d\xb8\0\2"
				 "\0\6\0\x10\x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"));
	expect_rewritten(&both,
			 LITERAL("\0\1\0"
				 "\0\3\0\2\x20\xfb"),
			 LITERAL("\0\1\0"
				 "\0\3\0\2\x20\xfb"));
}

static void mandatory_stays_valid(void **state)
{
	const struct dns_svcb_admitted none = {0};

	/* mandatory: alpn, ech → alpn */
	expect_rewritten(&none,
			 LITERAL("\0\1\0"
				 "\0\0\0\4\0\1\0\5"
				 "\0\1\0\3\2h2"
				 "\0\5\0\1x"),
			 LITERAL("\0\1\0"
				 "\0\0\0\2\0\1"
				 "\0\1\0\3\2h2"));
	/* mandatory: ipv4hint → none left */
	expect_rewritten(&none,
			 LITERAL("\0\1\0"
				 "\0\0\0\2\0\4"
				 "\0\4\0\4\1\2\3\4"),
			 LITERAL("\0\1\0"));
}

static void unknown_keys_are_dropped(void **state)
{
	const struct dns_svcb_admitted none = {0};

	expect_rewritten(&none,
			 LITERAL("\0\1\0"
				 "\0\3\0\2\1\xbb"
				 "\0\7\0\1/"
				 "\x12\x34\0\2hi"),
			 LITERAL("\0\1\0"
				 "\0\3\0\2\1\xbb"));
	/* A client would have to understand it: the record is of no use without. */
	expect_left_out(DNS_HTTPS, LITERAL("\0\1\0"
					   "\0\0\0\2\0\7"
					   "\0\7\0\1/"));
}

static void alias_mode_has_no_parameters(void **state)
{
	const struct dns_svcb_admitted none = {0};

	expect_rewritten(&none,
			 LITERAL("\0\0\3cdn\7example\0"
				 "\0\5\0\3ech"),
			 LITERAL("\0\0\3cdn\7example\0"));
}

static void malformed_services_are_refused(void **state)
{
	expect_malformed(DNS_HTTPS, LITERAL("\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\3abc"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\1\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\1\0\4\2h2"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\1\0\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\1\0\1\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\1\0\3\3h2"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\2\0\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\2\0\1x"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\3\0\1x"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\4\0\3abc"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\4\0\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\6\0\4abcd"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\3\0\2ab"
					    "\0\1\0\3\2h2")); /* order */
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\3\0\2ab"
					    "\0\3\0\2ab")); /* twice */
	/* mandatory: empty, odd, itself, not there, out of order */
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\0\0\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\0\0\1\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\0\0\2\0\0"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\0\0\2\0\3"
					    "\0\1\0\3\2h2"));
	expect_malformed(DNS_HTTPS, LITERAL("\0\1\0"
					    "\0\0\0\4\0\3\0\1"
					    "\0\1\0\3\2h2"
					    "\0\3\0\2ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_found),
		cmocka_unit_test(a_chain_is_followed_in_any_order),
		cmocka_unit_test(a_loop_of_aliases_is_told),
		cmocka_unit_test(too_long_a_chain_is_a_loop),
		cmocka_unit_test(an_alias_that_leads_nowhere_is_nodata),
		cmocka_unit_test(nxdomain_has_the_soa_of_its_zone),
		cmocka_unit_test(failures_are_told_apart),
		cmocka_unit_test(an_answer_to_another_question_is_none),
		cmocka_unit_test(wrong_lengths_are_malformed),
		cmocka_unit_test(more_than_sixteen_addresses_are_cut),
		cmocka_unit_test(a_huge_ttl_counts_as_none),
		cmocka_unit_test(every_type_is_written_anew),
		cmocka_unit_test(malformed_data_is_refused),
		cmocka_unit_test(names_of_no_host_are_left_out),
		cmocka_unit_test(ech_and_quic_are_taken_out),
		cmocka_unit_test(hints_are_only_vetted_addresses),
		cmocka_unit_test(mandatory_stays_valid),
		cmocka_unit_test(unknown_keys_are_dropped),
		cmocka_unit_test(alias_mode_has_no_parameters),
		cmocka_unit_test(malformed_services_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
