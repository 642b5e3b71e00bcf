/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "gate/ip.h"

static struct endpoint endpoint(const char *text, uint16_t port)
{
	struct endpoint e = {.port = port};

	assert_true(addr_parse(text, strlen(text), &e.addr));
	return e;
}

struct pair {
	struct endpoint sandbox, far;
};

static struct pair pair_v4(void)
{
	return (struct pair){endpoint("192.0.0.2", 40000), endpoint("93.184.0.1", 443)};
}

static struct pair pair_v6(void)
{
	return (struct pair){endpoint("fd73:616e:6467:1::2", 40000), endpoint("2a00::1", 443)};
}

static void udp_round_trip(struct pair e)
{
	uint8_t octets[2048];
	struct buf b = buf_of(octets, sizeof(octets));
	struct packet p;

	packet_build_udp(&b, &e.sandbox, &e.far, span_of_string("hello!!"));
	assert_false(b.full);
	assert_int_equal(packet_parse(buf_span(&b), &p), PACKET_OK);
	assert_int_equal(p.proto, IP_UDP);
	assert_int_equal(p.src_port, 40000);
	assert_int_equal(p.dst_port, 443);
	assert_true(addr_equal(&p.src, &e.sandbox.addr));
	assert_true(addr_equal(&p.dst, &e.far.addr));
	assert_true(span_equal(p.payload, span_of_string("hello!!")));
}

static void udp_is_built_and_parsed(void **state)
{
	udp_round_trip(pair_v4());
	udp_round_trip(pair_v6());
}

/* RFC 768: a sum that computes to zero goes out as all ones; every payload must verify. */
static void every_udp_checksum_verifies(void **state)
{
	struct pair e = pair_v6();

	for (unsigned i = 0; i < 65536; i++) {
		uint8_t octets[64], payload[2] = {(uint8_t)(i >> 8), (uint8_t)i};
		struct buf b = buf_of(octets, sizeof(octets));
		struct packet p;

		packet_build_udp(&b, &e.sandbox, &e.far, span_of(payload, 2));
		if (packet_parse(buf_span(&b), &p) != PACKET_OK)
			fail_msg("payload %04x", i);
	}
}

static void a_flipped_bit_is_seen(struct pair e)
{
	uint8_t octets[256];
	struct buf b = buf_of(octets, sizeof(octets));
	size_t from = addr_is_v4(&e.far.addr) ? 20 : 40;

	packet_build_udp(&b, &e.sandbox, &e.far, span_of_string("checksummed"));
	for (size_t i = from; i < b.n; i++) {
		struct packet p;

		octets[i] ^= 0x10;
		if (packet_parse(buf_span(&b), &p) == PACKET_OK)
			fail_msg("octet %zu", i);
		octets[i] ^= 0x10;
	}
}

static void flipped_bits_are_seen(void **state)
{
	a_flipped_bit_is_seen(pair_v4());
	a_flipped_bit_is_seen(pair_v6());
}

/* A SYN as a client sends it: no data, some options. */
static size_t make_syn(uint8_t *octets, struct pair e, uint8_t flags)
{
	struct buf b = buf_of(octets, 128);
	bool v4 = addr_is_v4(&e.far.addr);

	if (v4) {
		static const uint8_t head[] = {0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0};

		buf_put(&b, head, sizeof(head));
		buf_put(&b, addr_v4_octets(&e.sandbox.addr), 4);
		buf_put(&b, addr_v4_octets(&e.far.addr), 4);
	} else {
		buf_put_u32(&b, 0x60000000);
		buf_put_u16(&b, 24);
		buf_put_u8(&b, IP_TCP);
		buf_put_u8(&b, 64);
		buf_put(&b, e.sandbox.addr.b, 16);
		buf_put(&b, e.far.addr.b, 16);
	}
	buf_put_u16(&b, e.sandbox.port);
	buf_put_u16(&b, e.far.port);
	buf_put_u32(&b, 0x01020304);
	buf_put_u32(&b, 0);
	buf_put_u8(&b, 6 << 4);
	buf_put_u8(&b, flags);
	buf_put_u16(&b, 0xffff);
	buf_put_u32(&b, 0);
	buf_put_u32(&b, 0x020405b4);
	if (v4) {
		uint32_t sum = 0;

		for (size_t i = 0; i < 20; i += 2)
			sum += (uint32_t)(octets[i] << 8 | octets[i + 1]);
		sum = (sum & 0xffff) + (sum >> 16);
		octets[10] = (uint8_t)(~sum >> 8);
		octets[11] = (uint8_t)~sum;
	}
	return b.n;
}

static void check_reset(struct pair e)
{
	uint8_t syn[128], reset[128];
	struct buf b = buf_of(reset, sizeof(reset));
	struct packet p, r;

	assert_int_equal(packet_parse(span_of(syn, make_syn(syn, e, TCP_SYN)), &p), PACKET_OK);
	assert_int_equal(p.tcp_seq, 0x01020304);
	assert_int_equal(p.payload.n, 0);
	packet_build_reset(&b, &p);
	assert_int_equal(packet_parse(buf_span(&b), &r), PACKET_OK);
	/* RFC 9293, 3.5.2: <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK> */
	assert_int_equal(r.tcp_flags, TCP_RST | TCP_ACK);
	assert_int_equal(r.tcp_seq, 0);
	assert_int_equal(r.tcp_ack, 0x01020305);
	assert_int_equal(r.src_port, 443);
	assert_int_equal(r.dst_port, 40000);
	assert_true(addr_equal(&r.src, &e.far.addr));
}

static void a_syn_gets_a_reset_that_acknowledges_it(void **state)
{
	check_reset(pair_v4());
	check_reset(pair_v6());
}

static void check_unreachable(struct pair e, uint8_t type, uint8_t code)
{
	uint8_t syn[128], answer[256];
	struct buf b = buf_of(answer, sizeof(answer));
	struct packet p, r;

	assert_int_equal(packet_parse(span_of(syn, make_syn(syn, e, TCP_SYN)), &p), PACKET_OK);
	packet_build_unreachable(&b, &p, UNREACHABLE_PROHIBITED);
	assert_int_equal(packet_parse(buf_span(&b), &r), PACKET_OK);
	assert_int_equal(r.payload.p[0], type);
	assert_int_equal(r.payload.p[1], code);
	assert_memory_equal(r.payload.p + 8, p.whole.p, p.whole.n);
}

static void a_refusal_is_administratively_prohibited(void **state)
{
	check_unreachable(pair_v4(), 3, 13);
	check_unreachable(pair_v6(), 1, 1);
}

static enum packet_error parse_changed(struct pair e, size_t at, uint8_t value)
{
	uint8_t octets[128];
	size_t n = make_syn(octets, e, TCP_SYN);
	struct packet p;

	octets[at] = value;
	if (addr_is_v4(&e.far.addr)) {
		uint32_t sum = 0;

		octets[10] = octets[11] = 0;
		for (size_t i = 0; i < 20; i += 2)
			sum += (uint32_t)(octets[i] << 8 | octets[i + 1]);
		sum = (sum & 0xffff) + (sum >> 16);
		octets[10] = (uint8_t)(~sum >> 8);
		octets[11] = (uint8_t)~sum;
	}
	return packet_parse(span_of(octets, n), &p);
}

static void malformed_headers_are_refused(void **state)
{
	struct pair v4 = pair_v4(), v6 = pair_v6();

	assert_int_equal(parse_changed(v4, 0, 0x44), PACKET_BAD_HEADER);
	assert_int_equal(parse_changed(v4, 0, 0x55), PACKET_BAD_VERSION);
	assert_int_equal(parse_changed(v4, 3, 200), PACKET_TRUNCATED);
	assert_int_equal(parse_changed(v4, 3, 19), PACKET_BAD_HEADER);
	assert_int_equal(parse_changed(v4, 6, 0x20), PACKET_FRAGMENT);
	assert_int_equal(parse_changed(v4, 7, 0x01), PACKET_FRAGMENT);
	assert_int_equal(parse_changed(v4, 32, 4 << 4), PACKET_BAD_HEADER);
	assert_int_equal(parse_changed(v4, 32, 15 << 4), PACKET_BAD_HEADER);
	assert_int_equal(parse_changed(v4, 9, 132), PACKET_OTHER_PROTOCOL);
	assert_int_equal(parse_changed(v6, 5, 200), PACKET_TRUNCATED);
	assert_int_equal(parse_changed(v6, 6, 43), PACKET_SOURCE_ROUTED);
	assert_int_equal(parse_changed(v6, 6, 44), PACKET_FRAGMENT);
	assert_int_equal(parse_changed(v6, 6, 1), PACKET_OTHER_PROTOCOL);
}

static void a_mapped_address_on_the_wire_is_refused(void **state)
{
	uint8_t octets[128];
	size_t n = make_syn(octets, pair_v6(), TCP_SYN);
	struct addr mapped = endpoint("127.0.0.1", 0).addr;
	struct packet p;

	memcpy(octets + 24, mapped.b, 16);
	assert_int_equal(packet_parse(span_of(octets, n), &p), PACKET_BAD_HEADER);
}

static void source_routes_are_refused(void **state)
{
	static const uint8_t types[] = {131, 137};

	for (size_t i = 0; i < sg_array_len(types); i++) {
		uint8_t octets[64] = {0x46, 0, 0, 44, 0, 0, 0, 0, 64, 6};
		uint32_t sum = 0;
		struct packet p;

		memcpy(octets + 12, "\xc0\0\0\2\x5d\xb8\0\1", 8);
		octets[20] = types[i];
		octets[21] = 4;
		for (size_t at = 0; at < 24; at += 2)
			sum += (uint32_t)(octets[at] << 8 | octets[at + 1]);
		sum = (sum & 0xffff) + (sum >> 16);
		octets[10] = (uint8_t)(~sum >> 8);
		octets[11] = (uint8_t)~sum;
		assert_int_equal(packet_parse(span_of(octets, 44), &p), PACKET_SOURCE_ROUTED);
	}
}

static void extension_headers_are_passed_and_bounded(void **state)
{
	uint8_t octets[256] = {0x60, 0, 0, 0, 0, 0, 0, 64};
	struct packet p;

	memcpy(octets + 8, pair_v6().sandbox.addr.b, 16);
	memcpy(octets + 24, pair_v6().far.addr.b, 16);
	octets[5] = 100;
	octets[6] = 60;
	/* Destination options that only lead to more of themselves. */
	for (size_t at = 40; at < 140; at += 8)
		octets[at] = 60;
	assert_int_equal(packet_parse(span_of(octets, 140), &p), PACKET_BAD_HEADER);
	/* One that claims to be longer than the packet. */
	octets[41] = 200;
	assert_int_equal(packet_parse(span_of(octets, 140), &p), PACKET_BAD_HEADER);
}

static void what_does_not_fit_is_not_built(void **state)
{
	uint8_t octets[30];
	struct buf b = buf_of(octets, sizeof(octets));
	struct pair e = pair_v4();

	packet_build_udp(&b, &e.far, &e.sandbox, span_of_string("too long for it"));
	assert_true(b.full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_is_built_and_parsed),
		cmocka_unit_test(every_udp_checksum_verifies),
		cmocka_unit_test(flipped_bits_are_seen),
		cmocka_unit_test(a_syn_gets_a_reset_that_acknowledges_it),
		cmocka_unit_test(a_refusal_is_administratively_prohibited),
		cmocka_unit_test(malformed_headers_are_refused),
		cmocka_unit_test(a_mapped_address_on_the_wire_is_refused),
		cmocka_unit_test(source_routes_are_refused),
		cmocka_unit_test(extension_headers_are_passed_and_bounded),
		cmocka_unit_test(what_does_not_fit_is_not_built),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
