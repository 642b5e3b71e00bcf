/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a frame: by the rules of the link, and by what the gate has told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "capture/checksum.h"
#include "capture/comment.h"
#include "capture/key_line.h"

#define SANDBOX "192.0.0.2"
#define FAR	"203.0.113.7"

static const uint8_t own_mac[] = {2, 's', 'g', 0, 0, 2}, gate_mac[] = {2, 's', 'g', 0, 0, 1};
static struct commentator commentator;
static uint8_t octets[2048];
static size_t length;
static char comment[PCAPNG_COMMENT_MAX];

static int begin(void **state)
{
	static const uint64_t key[2] = {1, 2};

	commentator = (struct commentator){.verdicts = verdict_table_new(key)};
	commentator.link.addresses = airlock_usual_addresses();
	commentator.link.v6 = true;
	memcpy(commentator.link.mac, own_mac, sizeof(own_mac));
	return commentator.verdicts ? 0 : -1;
}

static int end(void **state)
{
	verdict_table_free(commentator.verdicts);
	return 0;
}

/* ---- frames ---- */

static void put(const void *p, size_t n)
{
	memcpy(octets + length, p, n);
	length += n;
}

static void put16(unsigned v)
{
	put((uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2);
}

static void put_addr(const char *text)
{
	struct addr a = airlock_address(text);

	if (addr_is_v4(&a))
		put(addr_v4_octets(&a), 4);
	else
		put(a.b, 16);
}

static void ethernet(const uint8_t *from, unsigned type)
{
	length = 0;
	memset(octets, 0, sizeof(octets));
	put(gate_mac, 6);
	put(from, 6);
	put16(type);
}

/* `n` octets follow it. */
static void v4(const char *src, const char *dst, uint8_t proto, size_t n, unsigned fragment)
{
	ethernet(own_mac, 0x0800);
	put16(0x4500);
	put16((unsigned)(20 + n));
	put16(77);
	put16(fragment);
	put((uint8_t[]){64, proto, 0, 0}, 4);
	put_addr(src);
	put_addr(dst);
}

static void v6(const char *src, const char *dst, uint8_t proto, size_t n, uint8_t hops)
{
	ethernet(own_mac, 0x86dd);
	put((uint8_t[]){0x60, 0, 0, 0}, 4);
	put16((unsigned)n);
	put((uint8_t[]){proto, hops}, 2);
	put_addr(src);
	put_addr(dst);
}

static void tcp(unsigned src, unsigned dst, uint8_t flags)
{
	put16(src);
	put16(dst);
	put((uint8_t[]){0, 0, 0, 1, 0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0}, 16);
}

static void udp(unsigned src, unsigned dst, size_t n)
{
	put16(src);
	put16(dst);
	put16((unsigned)(8 + n));
	put16(0);
}

static bool say(bool from_sandbox, bool to_here, int64_t at)
{
	const struct seen_frame s = {span_of(octets, length), from_sandbox, to_here, at};
	struct frame f;

	frame_parse(s.octets, &f);
	return comment_make(&commentator, &s, &f, comment);
}

static void expect_own(const char *what)
{
	assert_true(say(true, true, 0));
	assert_string_equal(comment, what);
}

/* ---- the link ---- */

static void names_noise(void **state)
{
	static const uint8_t other[] = {2, 's', 'g', 0, 0, 9};

	v4(SANDBOX, FAR, IPPROTO_UDP, 8, 0);
	udp(5, 6, 0);
	memcpy(octets + 6, other, sizeof(other));
	expect_own("noise: source MAC not the sandbox's");
	v4("192.0.0.3", FAR, IPPROTO_UDP, 8, 0);
	expect_own("noise: source address not the sandbox's");
	v4(SANDBOX, "224.0.0.251", IPPROTO_UDP, 8, 0);
	expect_own("noise: destination no unicast address");
	v4(SANDBOX, "127.0.0.1", IPPROTO_UDP, 8, 0);
	expect_own("noise: destination no unicast address");
	v4(SANDBOX, FAR, IPPROTO_UDP, 8, 0);
	assert_true(say(true, false, 0));
	assert_string_equal(comment, "noise: not addressed to the gate");
	ethernet(own_mac, 0x8100);
	expect_own("noise: tag of a VLAN");
	ethernet(own_mac, 0x88cc);
	expect_own("noise: ethertype not carried");
	ethernet(own_mac, 0x0800);
	expect_own("noise: truncated frame");
	length = 13;
	expect_own("noise: truncated frame");
	v6("fe80::1234", "ff02::16", IPPROTO_ICMPV6, 8, 1);
	put((uint8_t[]){143, 0, 0, 0, 0, 0, 0, 0}, 8);
	expect_own("noise: source address not the sandbox's");
}

static void arp(const char *sender, unsigned operation)
{
	ethernet(own_mac, 0x0806);
	put((uint8_t[]){0, 1, 8, 0, 6, 4}, 6);
	put16(operation);
	put(own_mac, 6);
	put_addr(sender);
	length += 10;
}

static void names_services_of_the_link(void **state)
{
	arp(SANDBOX, 1);
	expect_own("link: address resolution");
	arp("0.0.0.0", 1);
	expect_own("link: address resolution");
	arp("192.0.0.1", 2);
	expect_own("noise: address resolution for another");
	arp(SANDBOX, 3);
	expect_own("noise: address resolution for another");
	v6("::", "ff02::1:ff00:2", IPPROTO_ICMPV6, 8, 255);
	put((uint8_t[]){135, 0, 0, 0, 0, 0, 0, 0}, 8);
	expect_own("link: neighbour discovery");
	/* It came from elsewhere. */
	octets[FRAME_HEADER + 7] = 254;
	expect_own("noise: source address not the sandbox's");
}

static void knows_a_guest(void **state)
{
	v4("0.0.0.0", "255.255.255.255", IPPROTO_UDP, 8, 0);
	udp(68, 67, 0);
	expect_own("noise: source address not the sandbox's");
	commentator.link.guest = true;
	expect_own("link: address configuration");
	v6("fe80::5054:ff", "ff02::2", IPPROTO_ICMPV6, 8, 255);
	put((uint8_t[]){133, 0, 0, 0, 0, 0, 0, 0}, 8);
	expect_own("link: neighbour discovery");
	/* Any address of its prefix is its own. */
	v6("fd73:616e:6467:1::77", "2001:db8::1", IPPROTO_UDP, 8, 64);
	udp(5, 6, 0);
	expect_own("noise: source address not the sandbox's");
	commentator.link.addresses.v6_prefix = true;
	assert_false(say(true, true, 0));
}

/* ---- verdicts ---- */

static void tell(uint8_t proto, unsigned near, const char *far, unsigned far_port,
		 enum verdict_kind kind, const char *text, int64_t at)
{
	struct verdict_note n = {.tuple = {.near = airlock_address(SANDBOX),
					   .near_port = (uint16_t)near,
					   .far_port = (uint16_t)far_port,
					   .proto = proto},
				 .kind = kind,
				 .time_ns = at};

	if (far)
		n.tuple.far = airlock_address(far);
	strcpy(n.text, text);
	assert_true(verdict_note_valid(&n));
	verdict_table_put(commentator.verdicts, &n);
}

static void follows_a_connection(void **state)
{
	v4(SANDBOX, FAR, IPPROTO_TCP, 20, 0);
	tcp(4000, 443, 0x02);
	assert_false(say(true, true, 10));
	assert_string_equal(comment, "undecided");
	tell(IPPROTO_TCP, 4000, FAR, 443, VERDICT_PENDING, "its name is to be seen", 20);
	assert_true(say(true, true, 10));
	assert_string_equal(comment, "pending: its name is to be seen");
	tell(IPPROTO_TCP, 4000, FAR, 443, VERDICT_ALLOW, "example.com", 30);
	v4(FAR, SANDBOX, IPPROTO_TCP, 20, 0);
	tcp(443, 4000, 0x12);
	assert_true(say(false, false, 40));
	assert_string_equal(comment, "allow: example.com");
	/* The same ports again: what was said before is of another connection. */
	v4(SANDBOX, FAR, IPPROTO_TCP, 20, 0);
	tcp(4000, 443, 0x02);
	assert_false(say(true, true, 50));
	tell(IPPROTO_TCP, 4000, FAR, 443, VERDICT_DENY, "not-in-policy", 60);
	assert_true(say(true, true, 50));
	assert_string_equal(comment, "deny: not-in-policy");
	v4(FAR, SANDBOX, IPPROTO_TCP, 20, 0);
	tcp(443, 4000, 0x14);
	assert_true(say(false, false, 70));
	assert_string_equal(comment, "gate: deny: not-in-policy");
	/* A segment of no connection asks for nothing. */
	v4(SANDBOX, FAR, IPPROTO_TCP, 20, 0);
	tcp(4001, 443, 0x10);
	assert_true(say(true, true, 80));
	assert_string_equal(comment, "undecided");
}

static void finds_the_proxy_port_by_its_near_end(void **state)
{
	tell(IPPROTO_TCP, 4000, NULL, 0, VERDICT_ALLOW, "example.com", 20);
	v4(SANDBOX, "192.0.0.1", IPPROTO_TCP, 20, 0);
	tcp(4000, 3128, 0x10);
	expect_own("allow: example.com");
	/* Elsewhere it says nothing. */
	v4(SANDBOX, FAR, IPPROTO_TCP, 20, 0);
	tcp(4000, 3128, 0x10);
	expect_own("undecided");
}

static void tells_lookups_apart(void **state)
{
	struct verdict_note n = {.tuple = {.near = airlock_address(SANDBOX),
					   .far = airlock_address(FAR),
					   .near_port = 4000,
					   .far_port = 53,
					   .dns_id = 0x1234,
					   .lookup = 1,
					   .proto = IPPROTO_UDP},
				 .kind = VERDICT_ALLOW,
				 .time_ns = 1,
				 .text = "a.example"};

	verdict_table_put(commentator.verdicts, &n);
	v4(SANDBOX, FAR, IPPROTO_UDP, 20, 0);
	udp(4000, 53, 12);
	put16(0x1234);
	length += 10;
	expect_own("allow: a.example");
	octets[FRAME_HEADER + 28] = 0x55;
	assert_false(say(true, true, 0));
	v4(FAR, SANDBOX, IPPROTO_UDP, 20, 0);
	udp(53, 4000, 12);
	put16(0x1234);
	length += 10;
	assert_true(say(false, false, 0));
	assert_string_equal(comment, "gate: allow: a.example");
}

static void follows_fragments(void **state)
{
	tell(IPPROTO_UDP, 4000, FAR, 99, VERDICT_ALLOW, "203.0.113.0/24", 1);
	v4(SANDBOX, FAR, IPPROTO_UDP, 16, 0x2000);
	udp(4000, 99, 8);
	length += 8;
	expect_own("allow: 203.0.113.0/24");
	v4(SANDBOX, FAR, IPPROTO_UDP, 16, 2);
	length += 16;
	expect_own("allow: 203.0.113.0/24");
	/* Of a packet whose first piece was not seen. */
	octets[FRAME_HEADER + 5] = 78;
	expect_own("undecided");
}

/* Of ICMP the gate carries what asks. */
static void names_what_is_noise_to_the_gate(void **state)
{
	v4(SANDBOX, FAR, IPPROTO_ICMP, 8, 0);
	put((uint8_t[]){3, 3, 0, 0, 0, 0, 0, 0}, 8);
	expect_own("noise: ICMP that is no echo request");
	octets[length - 8] = 8;
	expect_own("noise: ICMP that is no echo request");
	octets[length - 7] = 0;
	assert_false(say(true, true, 0));
}

/* An error that the gate writes is of the datagram that it quotes. */
static void knows_what_an_error_is_of(void **state)
{
	size_t outer;

	tell(IPPROTO_UDP, 4000, FAR, 99, VERDICT_DENY, "not-in-policy", 1);
	v4(FAR, SANDBOX, IPPROTO_ICMP, 8 + 28, 0);
	put((uint8_t[]){3, 13, 0, 0, 0, 0, 0, 0}, 8);
	outer = length;
	put((uint8_t[]){0x45, 0, 5, 0, 0, 1, 0, 0, 64, IPPROTO_UDP, 0, 0}, 12);
	put_addr(SANDBOX);
	put_addr(FAR);
	udp(4000, 99, 1000);
	assert_true(say(false, false, 0));
	assert_string_equal(comment, "gate: deny: not-in-policy");
	/* What it quotes has no whole header. */
	octets[outer] = 0x4f;
	assert_true(say(false, false, 0));
	assert_string_equal(comment, "undecided");
}

static void knows_what_is_opened_from_outside(void **state)
{
	v4("192.0.0.1", SANDBOX, IPPROTO_TCP, 20, 0);
	tcp(5000, 8080, 0x02);
	assert_true(say(false, false, 5));
	assert_string_equal(comment, "allow: opened from outside");
	v4(SANDBOX, "192.0.0.1", IPPROTO_TCP, 20, 0);
	tcp(8080, 5000, 0x12);
	expect_own("allow: opened from outside");
	/* Datagrams only where there is a door for others. */
	v4("10.88.0.1", SANDBOX, IPPROTO_UDP, 8, 0);
	udp(5000, 53, 0);
	assert_true(say(false, false, 5));
	assert_string_equal(comment, "undecided");
	commentator.link.inbound = true;
	assert_true(say(false, false, 5));
	assert_string_equal(comment, "allow: opened from outside");
}

static void tells_malformed_packets(void **state)
{
	v4(SANDBOX, FAR, IPPROTO_UDP, 8, 0);
	udp(1, 2, 0);
	length -= 4;
	expect_own("deny: malformed packet");
	v4(SANDBOX, FAR, IPPROTO_UDP, 8, 0);
	udp(1, 2, 0);
	octets[FRAME_HEADER] = 0x44;
	expect_own("deny: malformed packet");
}

/* BIG TCP of the kernel's: a length of 0 is that of the frame where no header could say it. */
static void knows_segments_beyond_64_kib(void **state)
{
	static uint8_t long_octets[14 + 40 + 0xffff + 1];
	struct frame f;

	v4(SANDBOX, FAR, IPPROTO_TCP, 0, 0);
	tcp(1, 2, 0x10);
	octets[FRAME_HEADER + 2] = octets[FRAME_HEADER + 3] = 0;
	frame_parse(span_of(octets, length), &f);
	assert_true(f.malformed);
	memcpy(long_octets, octets, length);
	frame_parse(span_of(long_octets, sizeof(long_octets) - 1), &f);
	assert_true(f.malformed);
	frame_parse(span_of(long_octets, sizeof(long_octets)), &f);
	assert_false(f.malformed);
	assert_int_equal(f.end, sizeof(long_octets));
	assert_int_equal(f.transport, 34);
}

static void checks_notes(void **state)
{
	struct verdict_note n = {.kind = VERDICT_ALLOW};

	memset(n.text, 'a', sizeof(n.text));
	assert_false(verdict_note_valid(&n));
	n.text[sizeof(n.text) - 1] = 0;
	assert_true(verdict_note_valid(&n));
	n.text[3] = '\x1b';
	assert_false(verdict_note_valid(&n));
	n.text[0] = 0;
	assert_true(verdict_note_valid(&n));
	n.kind = VERDICT_KINDS;
	assert_false(verdict_note_valid(&n));
}

/* The oldest of a full set goes; the table holds as many as it says at least once. */
static void forgets_the_oldest(void **state)
{
	struct tuple first = {.near = airlock_address(SANDBOX),
			      .far = airlock_address(FAR),
			      .near_port = 1,
			      .far_port = 99,
			      .proto = IPPROTO_UDP};

	for (unsigned i = 1; i <= UINT16_MAX; i++)
		tell(IPPROTO_UDP, i, FAR, 99, VERDICT_ALLOW, "x", i);
	assert_null(verdict_table_find(commentator.verdicts, &first));
	first.near_port = UINT16_MAX;
	assert_non_null(verdict_table_find(commentator.verdicts, &first));
}

/* ---- checksums ---- */

static uint16_t sum_of(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void completes_checksums(void **state)
{
	struct frame f;

	v4(SANDBOX, FAR, IPPROTO_TCP, 23, 0);
	tcp(4000, 443, 0x18);
	put("abc", 3);
	/* The kernel leaves the sum of the pseudo header there. */
	octets[FRAME_HEADER + 20 + 16] = 0x5a;
	frame_parse(span_of(octets, length), &f);
	checksum_complete(&f, octets);
	/* Addresses, protocol and length before it: all of it sums to ones (RFC 1071). */
	assert_int_equal(sum_of(octets + FRAME_HEADER + 12, 8 + 23, IPPROTO_TCP + 23), 0xffff);
	v6("fd73:616e:6467:1::2", "2001:db8::1", IPPROTO_UDP, 11, 64);
	udp(4000, 99, 3);
	put("abc", 3);
	frame_parse(span_of(octets, length), &f);
	checksum_complete(&f, octets);
	assert_int_equal(sum_of(octets + FRAME_HEADER + 8, 32 + 11, IPPROTO_UDP + 11), 0xffff);
}

static void leaves_other_frames_alone(void **state)
{
	uint8_t before[sizeof(octets)];
	struct frame f;

	v4(SANDBOX, FAR, 132, 20, 0);
	tcp(1, 2, 3);
	memcpy(before, octets, sizeof(before));
	frame_parse(span_of(octets, length), &f);
	checksum_complete(&f, octets);
	assert_memory_equal(octets, before, sizeof(before));
	arp(SANDBOX, 1);
	memcpy(before, octets, sizeof(before));
	frame_parse(span_of(octets, length), &f);
	checksum_complete(&f, octets);
	assert_memory_equal(octets, before, sizeof(before));
}

/* ---- keys ---- */

#define RANDOM "0123456789abcdefABCDEF00112233440123456789abcdefABCDEF0011223344"

static bool is_line(const char *text)
{
	return key_line_valid(span_of_string(text));
}

static void knows_lines_of_keys(void **state)
{
	assert_true(is_line("CLIENT_RANDOM " RANDOM " 00ff"));
	assert_true(is_line("SERVER_TRAFFIC_SECRET_0 " RANDOM " " RANDOM RANDOM));
	assert_false(is_line(""));
	assert_false(is_line("CLIENT_RANDOM"));
	assert_false(is_line("CLIENT_RANDOM " RANDOM));
	assert_false(is_line("CLIENT_RANDOM " RANDOM " "));
	assert_false(is_line("CLIENT_RANDOM " RANDOM " 0"));
	assert_false(is_line("CLIENT_RANDOM " RANDOM "0 00"));
	assert_false(is_line("client_random " RANDOM " 00"));
	assert_false(is_line(" " RANDOM " 00"));
	assert_false(is_line("CLIENT_RANDOM " RANDOM " 00\nCLIENT_RANDOM " RANDOM " 00"));
	assert_false(is_line("CLIENT_RANDOM " RANDOM " " RANDOM RANDOM "00"));
}

#define WITH_TABLE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(names_noise),
		WITH_TABLE(names_services_of_the_link),
		WITH_TABLE(knows_a_guest),
		WITH_TABLE(follows_a_connection),
		WITH_TABLE(finds_the_proxy_port_by_its_near_end),
		WITH_TABLE(tells_lookups_apart),
		WITH_TABLE(follows_fragments),
		WITH_TABLE(names_what_is_noise_to_the_gate),
		WITH_TABLE(knows_what_an_error_is_of),
		WITH_TABLE(knows_what_is_opened_from_outside),
		WITH_TABLE(tells_malformed_packets),
		WITH_TABLE(forgets_the_oldest),
		cmocka_unit_test(knows_segments_beyond_64_kib),
		cmocka_unit_test(checks_notes),
		cmocka_unit_test(completes_checksums),
		cmocka_unit_test(leaves_other_frames_alone),
		cmocka_unit_test(knows_lines_of_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
