/* SPDX-License-Identifier: Apache-2.0 */
/* Questions in, answers out: protocols.md, DNS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "dns_wire.h"

enum { RD = 0x0100 };

static struct wire w;

static void ask(const char *name, uint16_t type)
{
	wire_header(&w, 0x1234, RD, 1, 0, 0, 0);
	wire_question(&w, name, type);
}

static enum dns_parse parse(struct dns_query *q, enum dns_rcode *rcode)
{
	uint8_t *exact = malloc(w.b.n ? w.b.n : 1);
	enum dns_parse p;

	/* A copy of exactly that size, so that a sanitizer sees a read past the end. */
	memcpy(exact, w.octets, w.b.n);
	p = dns_query_parse(span_of(exact, w.b.n), q, rcode);
	free(exact);
	return p;
}

static void expect_error(enum dns_rcode want)
{
	struct dns_query q;
	enum dns_rcode rcode;

	assert_int_equal(parse(&q, &rcode), DNS_PARSE_ERROR);
	assert_int_equal(rcode, want);
}

static void expect_ok(struct dns_query *q)
{
	enum dns_rcode rcode;

	assert_int_equal(parse(q, &rcode), DNS_PARSE_OK);
}

static void a_plain_question_is_understood(void **state)
{
	struct dns_query q;

	ask("WwW.eXample.COM", DNS_AAAA);
	expect_ok(&q);
	assert_int_equal(q.id, 0x1234);
	assert_true(q.rd);
	assert_false(q.edns);
	assert_int_equal(q.qtype, DNS_AAAA);
	assert_int_equal(q.udp_size, 512);
	assert_true(wire_name_is(&q.qname, "WwW.eXample.COM"));
}

static void less_than_a_header_is_dropped(void **state)
{
	struct dns_query q;
	enum dns_rcode rcode;

	ask("a.example", DNS_A);
	for (w.b.n = 0; w.b.n < DNS_HEADER; w.b.n++)
		assert_int_equal(parse(&q, &rcode), DNS_PARSE_DROP);
}

static void every_cut_is_a_format_error(void **state)
{
	ask("a.example", DNS_A);
	wire_opt(&w, 1232, 0, 0);
	w.octets[11] = 1;
	for (size_t n = w.b.n - 1; n >= DNS_HEADER; n--) {
		w.b.n = n;
		expect_error(DNS_FORMERR);
	}
}

static void exactly_one_question(void **state)
{
	static const uint16_t counts[] = {0, 2, 0xffff};

	for (size_t i = 0; i < sg_array_len(counts); i++) {
		wire_header(&w, 1, RD, counts[i], 0, 0, 0);
		wire_question(&w, "a.example", DNS_A);
		wire_question(&w, "b.example", DNS_A);
		expect_error(DNS_FORMERR);
	}
}

static void what_is_no_question_is_refused(void **state)
{
	struct dns_query q;
	enum dns_rcode rcode;

	ask("a.example", DNS_A);
	w.octets[2] |= 0x80; /* QR */
	expect_error(DNS_FORMERR);
	ask("a.example", DNS_A);
	w.octets[2] |= 0x02; /* TC */
	expect_error(DNS_FORMERR);
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		ask("a.example", DNS_A);
		w.octets[2] |= (uint8_t)(opcode << 3);
		expect_error(DNS_NOTIMP);
		parse(&q, &rcode);
		assert_int_equal(q.opcode, opcode);
	}
	ask("a.example", DNS_A);
	w.octets[w.b.n - 1] = 3; /* class CHAOS */
	expect_error(DNS_REFUSED);
	ask("a.example", DNS_AXFR);
	expect_error(DNS_REFUSED);
	wire_header(&w, 1, 0, 1, 0, 1, 0);
	wire_question(&w, "a.example", DNS_IXFR);
	wire_soa(&w, "a.example", 1, 1);
	expect_error(DNS_REFUSED);
	ask("a.example", DNS_OPT);
	expect_error(DNS_FORMERR);
}

static void nothing_may_follow(void **state)
{
	ask("a.example", DNS_A);
	buf_put_u8(&w.b, 0);
	expect_error(DNS_FORMERR);
	wire_header(&w, 1, RD, 1, 1, 0, 0);
	wire_question(&w, "a.example", DNS_A);
	wire_data(&w, "a.example", DNS_A, 1, "\1\2\3\4", 4);
	expect_error(DNS_FORMERR);
	wire_header(&w, 1, RD, 1, 0, 0, 1); /* a signature that nobody here can check */
	wire_question(&w, "a.example", DNS_A);
	wire_data(&w, "key", DNS_TSIG, 0, "", 0);
	expect_error(DNS_FORMERR);
}

static void names_are_bounded(void **state)
{
	struct dns_query q;
	char name[300];

	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	name[63 + 64 + 64 + 61 + 1] = 0; /* 63.63.63.61: 255 octets on the wire */
	ask(name, DNS_A);
	expect_ok(&q);
	assert_int_equal(q.qname.n, 255);
	name[63 + 64 + 64 + 61 + 1] = 'a';
	name[63 + 64 + 64 + 62 + 1] = 0;
	ask(name, DNS_A);
	expect_error(DNS_FORMERR);
	wire_header(&w, 1, RD, 1, 0, 0, 0);
	buf_put_u8(&w.b, 64); /* reserved label type (RFC 1035, 4.1.4) */
	for (int i = 0; i < 64; i++)
		buf_put_u8(&w.b, 'a');
	buf_put_u8(&w.b, 0);
	buf_put_u32(&w.b, DNS_A << 16 | DNS_CLASS_IN);
	expect_error(DNS_FORMERR);
}

static void pointers_in_a_question_are_refused(void **state)
{
	static const uint16_t targets[] = {0, 4, 12, 13, 14, 0x3fff};

	for (size_t i = 0; i < sg_array_len(targets); i++) {
		wire_header(&w, 1, RD, 1, 0, 0, 0);
		buf_put_u16(&w.b, 0xc000 | targets[i]);
		buf_put_u32(&w.b, DNS_A << 16 | DNS_CLASS_IN);
		expect_error(DNS_FORMERR);
	}
}

/* Two records that point at each other, and a chain that is longer than is followed. */
static void pointers_go_backward_and_end(void **state)
{
	uint8_t m[512] = {0};
	struct dns_wire_name out;
	size_t end, at = 12;

	m[12] = 0xc0, m[13] = 14, m[14] = 0xc0, m[15] = 12;
	assert_false(dns_name_expand(span_of(m, 16), 12, &out, &end));
	assert_false(dns_name_expand(span_of(m, 16), 14, &out, &end));
	m[12] = 0xc0, m[13] = 12;
	assert_false(dns_name_expand(span_of(m, 16), 12, &out, &end));
	/* A label whose pointer leads back into itself. */
	memcpy(m + 12, "\1a\xc0\x0c", 4);
	assert_false(dns_name_expand(span_of(m, 16), 12, &out, &end));
	memcpy(m + 12, "\1a\0", 3);
	for (at = 15; at < 15 + 2 * 40; at += 2) {
		size_t to = at == 15 ? 12 : at - 2;

		m[at] = (uint8_t)(0xc0 | to >> 8);
		m[at + 1] = (uint8_t)to;
	}
	assert_true(dns_name_expand(span_of(m, sizeof(m)), 15 + 2 * 15, &out, &end));
	assert_int_equal(end, 15 + 2 * 15 + 2);
	assert_true(wire_name_is(&out, "a"));
	assert_false(dns_name_expand(span_of(m, sizeof(m)), 15 + 2 * 16, &out, &end));
}

static void edns_is_clamped_and_checked(void **state)
{
	static const struct {
		uint16_t asked, got;
	} sizes[] = {{0, 512}, {511, 512}, {512, 512}, {1000, 1000}, {1232, 1232}, {65535, 1232}};
	struct dns_query q;

	for (size_t i = 0; i < sg_array_len(sizes); i++) {
		wire_header(&w, 1, RD, 1, 0, 0, 1);
		wire_question(&w, "a.example", DNS_A);
		wire_opt(&w, sizes[i].asked, 0, 0x8000);
		expect_ok(&q);
		assert_true(q.edns && q.dnssec_ok);
		assert_int_equal(q.udp_size, sizes[i].got);
	}
	wire_header(&w, 1, RD, 1, 0, 0, 2);
	wire_question(&w, "a.example", DNS_A);
	wire_opt(&w, 1232, 0, 0);
	wire_opt(&w, 1232, 0, 0);
	expect_error(DNS_FORMERR);
	wire_header(&w, 1, RD, 1, 0, 0, 1);
	wire_question(&w, "a.example", DNS_A);
	wire_opt(&w, 1232, 1, 0);
	expect_error(DNS_BADVERS);
}

static void edns_options_are_whole_and_ignored(void **state)
{
	static const uint8_t subnet[] = {0, 8, 0, 7, 0, 1, 24, 0, 192, 0, 2};
	struct dns_query q;

	wire_header(&w, 1, RD, 1, 0, 0, 1);
	wire_question(&w, "a.example", DNS_A);
	wire_opt(&w, 1232, 0, 0);
	buf_patch_u16(&w.b, w.b.n - 2, sizeof(subnet));
	buf_put(&w.b, subnet, sizeof(subnet));
	expect_ok(&q);
	w.octets[w.b.n - 8] = 8; /* the option claims one octet more than there is */
	expect_error(DNS_FORMERR);
}

static void names_of_other_octets_are_no_names(void **state)
{
	static const struct {
		const char *label;
		size_t n;
		enum name_error want;
	} cases[] = {
		{"a.b", 3, NAME_BAD_CHARACTER},	 {"a\0b", 3, NAME_BAD_CHARACTER},
		{"a b", 3, NAME_BAD_CHARACTER},	 {"\xc3\xa4", 2, NAME_BAD_CHARACTER},
		{"a\\b", 3, NAME_BAD_CHARACTER}, {"a_b-c9", 6, NAME_OK},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		struct dns_query q;
		struct name name;

		wire_header(&w, 1, RD, 1, 0, 0, 0);
		buf_put_u8(&w.b, (uint8_t)cases[i].n);
		buf_put(&w.b, cases[i].label, cases[i].n);
		wire_question(&w, "example", DNS_A);
		expect_ok(&q);
		assert_int_equal(dns_name_from_wire(&q.qname, &name), cases[i].want);
	}
}

static void numeric_names_and_the_root_are_none(void **state)
{
	struct dns_query q;
	struct name name;

	ask("1.2.3.4", DNS_A);
	expect_ok(&q);
	assert_int_equal(dns_name_from_wire(&q.qname, &name), NAME_NUMERIC);
	ask("", DNS_NS);
	expect_ok(&q);
	assert_int_equal(dns_name_from_wire(&q.qname, &name), NAME_EMPTY);
}

static void names_go_to_the_wire_and_back(void **state)
{
	static const char *const texts[] = {"a", "a.b", "xn--bcher-kva.example",
					    "_dmarc.example.com"};

	for (size_t i = 0; i < sg_array_len(texts); i++) {
		struct name name = wire_parse_name(texts[i]), back;
		struct dns_wire_name wn;

		dns_name_to_wire(&name, &wn);
		assert_true(wire_name_is(&wn, texts[i]));
		assert_int_equal(dns_name_from_wire(&wn, &back), NAME_OK);
		assert_true(name_equal(&name, &back));
	}
}

static void zones_match_at_labels(void **state)
{
	struct dns_wire_name name, zone;
	struct name n = wire_parse_name("www.example.com");
	static const struct {
		const char *zone;
		bool below;
	} cases[] = {{"com", true},	{"example.com", true},	      {"www.example.com", true},
		     {"le.com", false}, {"a.www.example.com", false}, {"org", false}};

	dns_name_to_wire(&n, &name);
	for (size_t i = 0; i < sg_array_len(cases); i++) {
		n = wire_parse_name(cases[i].zone);
		dns_name_to_wire(&n, &zone);
		assert_int_equal(dns_name_is_at_or_below(&name, &zone), cases[i].below);
	}
	zone = (struct dns_wire_name){.n = 1};
	assert_true(dns_name_is_at_or_below(&name, &zone));
}

/* --- building --- */

static uint8_t out[65535];
static struct wire_reply reply;

static struct dns_query question(const char *name, uint16_t type, bool edns)
{
	struct dns_query q;

	wire_header(&w, 0xbeef, RD | 0x10, 1, 0, 0, edns);
	wire_question(&w, name, type);
	if (edns)
		wire_opt(&w, 1232, 0, 0x8000);
	expect_ok(&q);
	return q;
}

static void an_answer_echoes_the_question(void **state)
{
	struct dns_query q = question("wWw.Example.com", DNS_A, true);
	struct addr a = addr_from_v4((const uint8_t[]){93, 184, 0, 1});
	struct dns_builder d;

	dns_build_begin(&d, &q, DNS_NOERROR, out, q.udp_size);
	dns_build_addr(&d, &a, 60);
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.id, 0xbeef);
	assert_int_equal(reply.flags, 0x8190); /* QR RD RA CD, and neither AA nor AD */
	assert_true(wire_name_is(&reply.qname, "wWw.Example.com"));
	assert_true(wire_name_is(&reply.record[0].owner, "wWw.Example.com"));
	assert_int_equal(reply.answers, 1);
	assert_int_equal(reply.record[0].ttl, 60);
	assert_memory_equal(out + reply.record[0].at, "\x5d\xb8\0\1", 4);
	assert_int_equal(reply.record[1].type, DNS_OPT);
	assert_int_equal(reply.record[1].ttl, 0x8000);
}

static void without_edns_there_is_no_opt(void **state)
{
	struct dns_query q = question("a.example", DNS_A, false);
	struct dns_builder d;

	dns_build_begin(&d, &q, DNS_REFUSED, out, q.udp_size);
	dns_build_ede(&d, DNS_EDE_BLOCKED, "a reason");
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.rcode, DNS_REFUSED);
	assert_int_equal(reply.additional, 0);
}

static void badvers_is_in_the_opt_record(void **state)
{
	struct dns_query q = question("a.example", DNS_A, true);
	struct dns_builder d;

	dns_build_begin(&d, &q, DNS_BADVERS, out, q.udp_size);
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.rcode, DNS_BADVERS);
	assert_int_equal(reply.flags & 0xf, 0);
}

static void a_refusal_says_why(void **state)
{
	struct dns_query q = question("a.example", DNS_A, true);
	struct dns_builder d;
	char text[2000];

	dns_build_begin(&d, &q, DNS_REFUSED, out, q.udp_size);
	dns_build_ede(&d, DNS_EDE_BLOCKED, "sandgate net allow box site:a.example");
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.ede, 15);
	assert_string_equal(reply.ede_text, "sandgate net allow box site:a.example");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	dns_build_begin(&d, &q, DNS_NXDOMAIN, out, 512);
	dns_build_ede(&d, DNS_EDE_BLOCKED, text);
	dns_build_own_soa(&d, &q.qname, 5);
	wire_read(dns_build_end(&d), &reply);
	assert_true(d.b.n <= 512);
	assert_int_equal(reply.ede, 15);
	assert_int_equal(reply.authority, 1);
	assert_false(reply.tc);
}

/* RFC 2181, 9: cut at a record, TC set, nothing after the first that did not fit. */
static void too_much_is_cut_at_a_record(void **state)
{
	struct dns_query q = question("a.example", DNS_AAAA, true);
	struct dns_builder d;

	for (size_t size = 512; size <= 1232; size += 7) {
		dns_build_begin(&d, &q, DNS_NOERROR, out, size);
		for (uint8_t i = 0; i < 100; i++) {
			struct addr a = addr_from_v6((const uint8_t[16]){0x2a, 0, [15] = i});

			dns_build_addr(&d, &a, 60);
		}
		assert_true(dns_build_end(&d).n <= size);
		wire_read(buf_span(&d.b), &reply);
		assert_true(reply.tc);
		assert_int_equal(reply.answers, (size - 12 - 15 - 11) / 28);
		assert_int_equal(reply.additional, 1);
	}
}

static void a_big_record_closes_the_message(void **state)
{
	struct dns_query q = question("a.example", DNS_TXT, false);
	static const uint8_t small[] = {3, 'a', 'b', 'c'};
	static uint8_t big[600];
	struct dns_builder d;

	big[0] = 255, big[256] = 255, big[512] = 87;
	dns_build_begin(&d, &q, DNS_NOERROR, out, 512);
	dns_build_record(&d, DNS_TXT, 60, span_of(small, sizeof(small)));
	dns_build_record(&d, DNS_TXT, 60, span_of(big, sizeof(big)));
	dns_build_record(&d, DNS_TXT, 60, span_of(small, sizeof(small)));
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.answers, 1);
	assert_true(reply.tc);
}

/* RFC 3597, 4: names in the data of the old types are compressed, in SRV they are not. */
static void names_in_data_are_compressed(void **state)
{
	static const uint8_t mx[] = "\0\12\4mail\7Example\3com";
	static const uint8_t srv[] = "\0\1\0\2\x1f\x90\4mail\7example\3com";
	struct dns_query q = question("www.example.com", DNS_MX, false);
	struct dns_wire_name name;
	struct dns_builder d;
	size_t end;

	dns_build_begin(&d, &q, DNS_NOERROR, out, 512);
	dns_build_record(&d, DNS_MX, 60, span_of(mx, sizeof(mx)));
	dns_build_record(&d, DNS_MX, 60, span_of(mx, sizeof(mx)));
	dns_build_record(&d, DNS_SRV, 60, span_of(srv, sizeof(srv)));
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.record[0].end - reply.record[0].at, 2 + 5 + 2);
	assert_int_equal(reply.record[1].end - reply.record[1].at, 2 + 2);
	assert_int_equal(reply.record[2].end - reply.record[2].at, sizeof(srv));
	for (size_t i = 0; i < 2; i++) {
		assert_true(dns_name_expand(buf_span(&d.b), reply.record[i].at + 2, &name, &end));
		assert_true(wire_name_is(&name, "mail.example.com"));
	}
}

static void a_negative_answer_has_an_soa(void **state)
{
	struct dns_query q = question("no.such.example", DNS_A, false);
	struct dns_wire_name zone;
	struct name parent = wire_parse_name("such.example");
	struct dns_builder d;

	dns_name_to_wire(&parent, &zone);
	dns_build_begin(&d, &q, DNS_NXDOMAIN, out, 512);
	dns_build_own_soa(&d, &zone, 30);
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.authority, 1);
	assert_int_equal(reply.record[0].type, DNS_SOA);
	assert_true(wire_name_is(&reply.record[0].owner, "such.example"));
	assert_int_equal(reply.record[0].ttl, 30);
	assert_memory_equal(out + reply.record[0].end - 4, "\0\0\0\36", 4);
}

static void any_is_minimal(void **state)
{
	struct dns_query q = question("a.example", DNS_ANY, false);
	struct dns_builder d;

	dns_build_begin(&d, &q, DNS_NOERROR, out, 512);
	dns_build_any(&d);
	wire_read(dns_build_end(&d), &reply);
	assert_int_equal(reply.answers, 1);
	assert_int_equal(reply.record[0].type, DNS_HINFO);
}

static void a_question_for_the_upstream(void **state)
{
	struct name name = wire_parse_name("www.example.com");
	struct dns_query q;

	w.b = buf_of(w.octets, sizeof(w.octets));
	w.b.n = dns_question_build(&name, DNS_HTTPS, 0x4242, true, w.octets);
	expect_ok(&q);
	assert_int_equal(q.id, 0x4242);
	assert_int_equal(q.qtype, DNS_HTTPS);
	assert_true(q.rd && q.edns && !q.dnssec_ok);
	assert_int_equal(q.udp_size, 1232);
	w.b.n = dns_question_build(&name, DNS_HTTPS, 0x4242, false, w.octets);
	expect_ok(&q);
	assert_false(q.edns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_question_is_understood),
		cmocka_unit_test(less_than_a_header_is_dropped),
		cmocka_unit_test(every_cut_is_a_format_error),
		cmocka_unit_test(exactly_one_question),
		cmocka_unit_test(what_is_no_question_is_refused),
		cmocka_unit_test(nothing_may_follow),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(pointers_in_a_question_are_refused),
		cmocka_unit_test(pointers_go_backward_and_end),
		cmocka_unit_test(edns_is_clamped_and_checked),
		cmocka_unit_test(edns_options_are_whole_and_ignored),
		cmocka_unit_test(names_of_other_octets_are_no_names),
		cmocka_unit_test(numeric_names_and_the_root_are_none),
		cmocka_unit_test(names_go_to_the_wire_and_back),
		cmocka_unit_test(zones_match_at_labels),
		cmocka_unit_test(an_answer_echoes_the_question),
		cmocka_unit_test(without_edns_there_is_no_opt),
		cmocka_unit_test(badvers_is_in_the_opt_record),
		cmocka_unit_test(a_refusal_says_why),
		cmocka_unit_test(too_much_is_cut_at_a_record),
		cmocka_unit_test(a_big_record_closes_the_message),
		cmocka_unit_test(names_in_data_are_compressed),
		cmocka_unit_test(a_negative_answer_has_an_soa),
		cmocka_unit_test(any_is_minimal),
		cmocka_unit_test(a_question_for_the_upstream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
