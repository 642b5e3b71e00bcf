/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gate/quic_initial.h"
#include "quic_seal.h"

static struct quic_initial attempt;
static struct tls_hello hello;

/* RFC 9001, A.2: the protected packet of 1200 octets. */
static const char rfc9001_a2[] =
	"c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9bd8ba"
	"b936b47d92ec356c0bab7df5976d27cd449f63300099f3991c260ec4c60d17b31f8429157bb35a12"
	"82a643a8d2262cad67500cadb8e7378c8eb7539ec4d4905fed1bee1fc8aafba17c750e2c7ace01e6"
	"005f80fcb7df621230c83711b39343fa028cea7f7fb5ff89eac2308249a02252155e2347b63d58c5"
	"457afd84d05dfffdb20392844ae812154682e9cf012f9021a6f0be17ddd0c2084dce25ff9b06cde5"
	"35d0f920a2db1bf362c23e596d11a4f5a6cf3948838a3aec4e15daf8500a6ef69ec4e3feb6b1d98e"
	"610ac8b7ec3faf6ad760b7bad1db4ba3485e8a94dc250ae3fdb41ed15fb6a8e5eba0fc3dd60bc8e3"
	"0c5c4287e53805db059ae0648db2f64264ed5e39be2e20d82df566da8dd5998ccabdae053060ae6c"
	"7b4378e846d29f37ed7b4ea9ec5d82e7961b7f25a9323851f681d582363aa5f89937f5a67258bf63"
	"ad6f1a0b1d96dbd4faddfcefc5266ba6611722395c906556be52afe3f565636ad1b17d508b73d874"
	"3eeb524be22b3dcbc2c7468d54119c7468449a13d8e3b95811a198f3491de3e7fe942b330407abf8"
	"2a4ed7c1b311663ac69890f4157015853d91e923037c227a33cdd5ec281ca3f79c44546b9d90ca00"
	"f064c99e3dd97911d39fe9c5d0b23a229a234cb36186c4819e8b9c5927726632291d6a418211cc29"
	"62e20fe47feb3edf330f2c603a9d48c0fcb5699dbfe5896425c5bac4aee82e57a85aaf4e2513e4f0"
	"5796b07ba2ee47d80506f8d2c25e50fd14de71e6c418559302f939b0e1abd576f279c4b2e0feb85c"
	"1f28ff18f58891ffef132eef2fa09346aee33c28eb130ff28f5b766953334113211996d20011a198"
	"e3fc433f9f2541010ae17c1bf202580f6047472fb36857fe843b19f5984009ddc324044e847a4f4a"
	"0ab34f719595de37252d6235365e9b84392b061085349d73203a4a13e96f5432ec0fd4a1ee65accd"
	"d5e3904df54c1da510b0ff20dcc0c77fcb2c0e0eb605cb0504db87632cf3d8b4dae6e705769d1de3"
	"54270123cb11450efc60ac47683d7b8d0f811365565fd98c4c8eb936bcab8d069fc33bd801b03ade"
	"a2e1fbc5aa463d08ca19896d2bf59a071b851e6c239052172f296bfb5e72404790a2181014f3b94a"
	"4e97d117b438130368cc39dbb2d198065ae3986547926cd2162f40a29f0c3c8745c0f50fba3852e5"
	"66d44575c29d39a03f0cda721984b6f440591f355e12d439ff150aab7613499dbd49adabc8676eef"
	"023b15b65bfc5ca06948109f23f350db82123535eb8a7433bdabcb909271a6ecbcb58b936a88cd4e"
	"8f2e6ff5800175f113253d8fa9ca8885c2f552e657dc603f252e1a8e308f76f0be79e2fb8f5d5fbb"
	"e2e30ecadd220723c8c0aea8078cdfcb3868263ff8f0940054da48781893a7e49ad5aff4af300cd8"
	"04a6b6279ab3ff3afb64491c85194aab760d58a606654f9f4400e8b38591356fbf6425aca26dc852"
	"44259ff2b19c41b9f96f3ca9ec1dde434da7d2d392b905ddf3d1f9af93d1af5950bd493f5aa731b4"
	"056df31bd267b6b90a079831aaf579be0a39013137aac6d404f518cfd46840647e78bfe706ca4cf5"
	"e9c5453e9f7cfd2b8b4c8d169a44e55c88d4a9a7f9474241e221af44860018ab0856972e194cd934";

/* RFC 9369, A.2. */
static const char rfc9369_a2[] =
	"d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485dd04de806071bf03"
	"dceebfa162e75d6c96058bdbfb127cdfcbf903388e99ad049f9a3dd4425ae4d0992cfff18ecf0fdb"
	"5a842d09747052f17ac2053d21f57c5d250f2c4f0e0202b70785b7946e992e58a59ac52dea6774d4"
	"f03b55545243cf1a12834e3f249a78d395e0d18f4d766004f1a2674802a747eaa901c3f10cda5500"
	"cb9122faa9f1df66c392079a1b40f0de1c6054196a11cbea40afb6ef5253cd6818f6625efce3b6de"
	"f6ba7e4b37a40f7732e093daa7d52190935b8da58976ff3312ae50b187c1433c0f028edcc4c2838b"
	"6a9bfc226ca4b4530e7a4ccee1bfa2a3d396ae5a3fb512384b2fdd851f784a65e03f2c4fbe11a53c"
	"7777c023462239dd6f7521a3f6c7d5dd3ec9b3f233773d4b46d23cc375eb198c63301c21801f6520"
	"bcfb7966fc49b393f0061d974a2706df8c4a9449f11d7f3d2dcbb90c6b877045636e7c0c0fe4eb0f"
	"697545460c806910d2c355f1d253bc9d2452aaa549e27a1fac7cf4ed77f322e8fa894b6a83810a34"
	"b361901751a6f5eb65a0326e07de7c1216ccce2d0193f958bb3850a833f7ae432b65bc5a53975c15"
	"5aa4bcb4f7b2c4e54df16efaf6ddea94e2c50b4cd1dfe06017e0e9d02900cffe1935e0491d77ffb4"
	"fdf85290fdd893d577b1131a610ef6a5c32b2ee0293617a37cbb08b847741c3b8017c25ca9052ca1"
	"079d8b78aebd47876d330a30f6a8c6d61dd1ab5589329de714d19d61370f8149748c72f132f0fc99"
	"f34d766c6938597040d8f9e2bb522ff99c63a344d6a2ae8aa8e51b7b90a4a806105fcbca31506c44"
	"6151adfeceb51b91abfe43960977c87471cf9ad4074d30e10d6a7f03c63bd5d4317f68ff325ba3bd"
	"80bf4dc8b52a0ba031758022eb025cdd770b44d6d6cf0670f4e990b22347a7db848265e3e5eb72df"
	"e8299ad7481a408322cac55786e52f633b2fb6b614eaed18d703dd84045a274ae8bfa73379661388"
	"d6991fe39b0d93debb41700b41f90a15c4d526250235ddcd6776fc77bc97e7a417ebcb31600d01e5"
	"7f32162a8560cacc7e27a096d37a1a86952ec71bd89a3e9a30a2a26162984d7740f81193e8238e61"
	"f6b5b984d4d3dfa033c1bb7e4f0037febf406d91c0dccf32acf423cfa1e7071010d3f270121b493c"
	"e85054ef58bada42310138fe081adb04e2bd901f2f13458b3d6758158197107c14ebb193230cd115"
	"7380aa79cae1374a7c1e5bbcb80ee23e06ebfde206bfb0fcbc0edc4ebec309661bdd908d532eb0c6"
	"adc38b7ca7331dce8dfce39ab71e7c32d318d136b6100671a1ae6a6600e3899f31f0eed19e3417d1"
	"34b90c9058f8632c798d4490da4987307cba922d61c39805d072b589bd52fdf1e86215c2d54e6670"
	"e07383a27bbffb5addf47d66aa85a0c6f9f32e59d85a44dd5d3b22dc2be80919b490437ae4f36a0a"
	"e55edf1d0b5cb4e9a3ecabee93dfc6e38d209d0fa6536d27a5d6fbb17641cde27525d61093f1b280"
	"72d111b2b4ae5f89d5974ee12e5cf7d5da4d6a31123041f33e61407e76cffcdcfd7e19ba58cf4b53"
	"6f4c4938ae79324dc402894b44faf8afbab35282ab659d13c93f70412e85cb199a37ddec60054547"
	"3cfb5a05e08d0b209973b2172b4d21fb69745a262ccde96ba18b2faa745b6fe189cf772a9f84cbfc";

static const uint8_t connection_id[] = {0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08};

/* The client hello of both, in the CRYPTO frame of their plain text. */
static const char rfc_hello[] =
	"010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c00000413011302"
	"010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d0017001800100007"
	"000504616c706e000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de171fa"
	"71f50f1ce15d43e994ec74d748002b0003020304000d0010000e0403050306030203080408050806002d000201"
	"01001c00024001003900320408ffffffffffffffff05048000ffff07048000ffff080110010480007530090110"
	"0f088394c8f03e51570806048000ffff";

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};

		out[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return n;
}

/* From memory of the exact size, for AddressSanitizer. */
static enum quic_state feed(struct span datagram)
{
	uint8_t *exact = malloc(datagram.n ? datagram.n : 1);
	enum quic_state state;

	assert_non_null(exact);
	memcpy(exact, datagram.p, datagram.n);
	state = quic_initial_feed(&attempt, span_of(exact, datagram.n), &hello);
	free(exact);
	return state;
}

static enum quic_state feed_first(struct span datagram)
{
	quic_initial_begin(&attempt);
	return feed(datagram);
}

/* ---- Building datagrams ---- */

struct message {
	uint8_t octets[300];
	size_t n;
};

static struct message whole_hello(void)
{
	struct message m;

	m.n = from_hex(rfc_hello, m.octets);
	return m;
}

static void put_crypto(struct buf *frames, const struct message *m, size_t at, size_t n)
{
	buf_put_u8(frames, 6);
	buf_put_u32(frames, 0x80000000 | (uint32_t)at);
	buf_put_u16(frames, 0x4000 | (uint16_t)n);
	buf_put(frames, m->octets + at, n);
}

static enum quic_state feed_frames(uint32_t version, uint8_t number, struct span frames)
{
	static uint8_t datagram[66000];
	struct buf b = buf_of(datagram, sizeof(datagram));

	seal_initial(&b, version, span_of(connection_id, sizeof(connection_id)), number, frames);
	return feed(buf_span(&b));
}

/* ---- What is read ---- */

static void the_packet_of_rfc_9001_is_read(void **state)
{
	uint8_t datagram[1200];
	size_t n = from_hex(rfc9001_a2, datagram);

	assert_int_equal(n, sizeof(datagram));
	assert_int_equal(feed_first(span_of(datagram, n)), QUIC_HELLO);
	assert_true(hello.has_server_name);
	assert_string_equal(hello.server_name.s, "example.com");
	assert_int_equal(hello.alpn, ALPN_OTHER);
}

/* RFC 9001, A.1. */
static void the_keys_are_those_of_rfc_9001(void **state)
{
	static const char key[] = "1f369613dd76d5467730efcbe3b1a22d";
	static const char iv[] = "fa044b2f42a3fd3b46fb255c";
	static const char hp[] = "9f50449e04a0e810283a1e9933adedd2";
	uint8_t datagram[1200], expected[16];

	from_hex(rfc9001_a2, datagram);
	feed_first(span_of(datagram, sizeof(datagram)));
	from_hex(key, expected);
	assert_memory_equal(attempt.keys.key, expected, 16);
	from_hex(iv, expected);
	assert_memory_equal(attempt.keys.iv, expected, 12);
	from_hex(hp, expected);
	assert_memory_equal(attempt.keys.hp, expected, 16);
}

static void the_packet_of_rfc_9369_is_read(void **state)
{
	uint8_t datagram[1200];

	from_hex(rfc9369_a2, datagram);
	assert_int_equal(feed_first(span_of(datagram, sizeof(datagram))), QUIC_HELLO);
	assert_string_equal(hello.server_name.s, "example.com");
}

/* Chrome sends the hello in pieces, out of order, between PADDING and PING. */
static void frames_out_of_order_are_joined(void **state)
{
	struct message m = whole_hello();
	uint8_t text[1200];

	for (uint32_t version = 0; version < 2; version++) {
		struct buf f = buf_of(text, sizeof(text));

		put_crypto(&f, &m, 100, 50);
		buf_put(&f, "\0\0\0\1", 4);
		put_crypto(&f, &m, 150, m.n - 150);
		buf_put(&f, "\2\1\0\1\0\0\0", 7); /* ACK with one more range */
		put_crypto(&f, &m, 0, 60);
		buf_put(&f, "\3\1\0\0\0\1\1\1", 8); /* ACK with ECN counts */
		put_crypto(&f, &m, 40, 70);	    /* overlaps on both sides */
		quic_initial_begin(&attempt);
		assert_int_equal(feed_frames(version ? SEAL_V2 : SEAL_V1, 0, buf_span(&f)),
				 QUIC_HELLO);
		assert_string_equal(hello.server_name.s, "example.com");
	}
}

static void datagrams_out_of_order_are_joined(void **state)
{
	struct message m = whole_hello();
	uint8_t text[1200];

	quic_initial_begin(&attempt);
	for (size_t i = 0; i < 5; i++) {
		size_t piece = (i + 3) % 5, at = piece * 50;
		struct buf f = buf_of(text, sizeof(text));

		put_crypto(&f, &m, at, piece == 4 ? m.n - at : 50);
		assert_int_equal(feed_frames(SEAL_V1, (uint8_t)i, buf_span(&f)),
				 i == 4 ? QUIC_HELLO : QUIC_NEED_MORE);
	}
	assert_string_equal(hello.server_name.s, "example.com");
}

/* Two Initials and a packet of another type in one datagram. */
static void coalesced_packets_are_read(void **state)
{
	struct message m = whole_hello();
	uint8_t text[1200], datagram[3000];
	struct span id = span_of(connection_id, sizeof(connection_id));
	struct buf b = buf_of(datagram, sizeof(datagram)), f = buf_of(text, sizeof(text));

	put_crypto(&f, &m, 0, 120);
	seal_initial(&b, SEAL_V1, id, 0, buf_span(&f));
	buf_put(&b, "\xd3\0\0\0\1\0\0\4wxyz", 12); /* 0-RTT */
	f = buf_of(text, sizeof(text));
	put_crypto(&f, &m, 120, m.n - 120);
	seal_initial(&b, SEAL_V1, id, 1, buf_span(&f));
	buf_put(&b, "\0\0\0\0\0\0", 6);
	assert_int_equal(feed_first(buf_span(&b)), QUIC_HELLO);
}

/* ---- What is not ---- */

static void other_datagrams_are_not_initial(void **state)
{
	static const struct {
		const char *octets;
		size_t n;
	} datagrams[] = {
		{"", 0},
		{"\x40short header", 13},
		{"\xc3\0\0\0\0\0\0\0\0", 9},			      /* version negotiation */
		{"\xc3\xff\0\0\x1d\0\0\0\0\0\0", 11},		      /* a draft */
		{"\xe3\0\0\0\1\0\0\4wxyz", 12},			      /* handshake */
		{"\xf3\0\0\0\1\0\0\4wxyz", 12},			      /* retry */
		{"\x83\0\0\0\1\0\0\4wxyz", 12},			      /* no fixed bit */
		{"\xc3\0\0\0\1\x15@@@@@@@@@@@@@@@@@@@@@\0\0\1x", 31}, /* id of 21 octets */
		{"\xc3\0\0\0\1\0\0\0\4wxyz", 13},		      /* too short for a sample */
	};

	for (size_t i = 0; i < sg_array_len(datagrams); i++)
		if (feed_first(span_of(datagrams[i].octets, datagrams[i].n)) != QUIC_NOT_INITIAL)
			fail_msg("datagram %zu", i);
}

static void every_cut_and_every_flipped_bit_is_noticed(void **state)
{
	uint8_t datagram[1200];

	from_hex(rfc9001_a2, datagram);
	for (size_t n = 0; n < sizeof(datagram); n++)
		assert_int_equal(feed_first(span_of(datagram, n)), QUIC_NOT_INITIAL);
	for (size_t i = 0; i < sizeof(datagram); i++) {
		datagram[i] ^= 0x10;
		assert_int_equal(feed_first(span_of(datagram, sizeof(datagram))), QUIC_NOT_INITIAL);
		datagram[i] ^= 0x10;
	}
}

/* The client's second flight bears the id that the server chose and the first flight's keys. */
static void a_later_initial_is_not_a_first_one(void **state)
{
	uint8_t datagram[1200];

	from_hex(rfc9001_a2, datagram);
	datagram[6] ^= 1;
	assert_int_equal(feed_first(span_of(datagram, sizeof(datagram))), QUIC_NOT_INITIAL);
}

static void a_foreign_packet_among_the_datagrams_is_passed_over(void **state)
{
	struct message m = whole_hello();
	uint8_t text[1200], foreign[1200];
	struct buf f = buf_of(text, sizeof(text));

	from_hex(rfc9369_a2, foreign);
	put_crypto(&f, &m, 0, 120);
	quic_initial_begin(&attempt);
	assert_int_equal(feed_frames(SEAL_V1, 0, buf_span(&f)), QUIC_NEED_MORE);
	assert_int_equal(feed(span_of(foreign, sizeof(foreign))), QUIC_NEED_MORE);
	assert_int_equal(feed(span_of("junk", 4)), QUIC_NEED_MORE);
	f = buf_of(text, sizeof(text));
	put_crypto(&f, &m, 120, m.n - 120);
	assert_int_equal(feed_frames(SEAL_V1, 1, buf_span(&f)), QUIC_HELLO);
}

static void frames_that_break_the_rules_are_malformed(void **state)
{
	static const struct {
		const char *frames;
		size_t n;
		enum quic_state state;
	} cases[] = {
		{"\x08\0\0\0", 4, QUIC_MALFORMED},   /* STREAM */
		{"\x1d\0\0\0\0", 5, QUIC_MALFORMED}, /* an application's CLOSE */
		{"\x40\x06\0\0", 4, QUIC_MALFORMED}, /* a type in too many octets */
		{"\1\1\1\6", 4, QUIC_MALFORMED},     /* CRYPTO cut short */
		{"\6\0\5abc", 6, QUIC_MALFORMED},
		{"\6\0\1\2", 4, QUIC_MALFORMED},	 /* a server hello */
		{"\2\0\0\x3f\0\0\0", 7, QUIC_MALFORMED}, /* ACK cut short */
		{"\6\0\1\1\6\0\1\2", 8, QUIC_MALFORMED}, /* two octets for one place */
		{"\6\x7f\xff\1a", 5, QUIC_NEED_MORE},	 /* the last octet that fits */
		{"\6\x7f\xff\2ab", 6, QUIC_TOO_LARGE},
		{"\6\xff\xff\xff\xff\xff\xff\xff\xff\1a", 11, QUIC_TOO_LARGE},
		{"\6\0\4\1\1\0\0", 7, QUIC_TOO_LARGE},
		{"\x1c\0\0\0", 4, QUIC_NEED_MORE},
		{"\1\1\1\1", 4, QUIC_NEED_MORE},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		quic_initial_begin(&attempt);
		if (feed_frames(SEAL_V1, 0, span_of(cases[i].frames, cases[i].n)) != cases[i].state)
			fail_msg("case %zu", i);
	}
}

static void an_attempt_has_an_end(void **state)
{
	enum quic_state last = QUIC_NEED_MORE;
	unsigned n = 0;

	quic_initial_begin(&attempt);
	while (last == QUIC_NEED_MORE && n < 2 * QUIC_DATAGRAMS_MAX) {
		last = feed_frames(SEAL_V1, (uint8_t)n, span_of("\1\1\1\1", 4));
		n++;
	}
	assert_int_equal(last, QUIC_TOO_LARGE);
	assert_int_equal(n, QUIC_DATAGRAMS_MAX);
}

static int set_up(void **state)
{
	struct err e;

	return quic_initial_init(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_packet_of_rfc_9001_is_read),
		cmocka_unit_test(the_keys_are_those_of_rfc_9001),
		cmocka_unit_test(the_packet_of_rfc_9369_is_read),
		cmocka_unit_test(frames_out_of_order_are_joined),
		cmocka_unit_test(datagrams_out_of_order_are_joined),
		cmocka_unit_test(coalesced_packets_are_read),
		cmocka_unit_test(other_datagrams_are_not_initial),
		cmocka_unit_test(every_cut_and_every_flipped_bit_is_noticed),
		cmocka_unit_test(a_later_initial_is_not_a_first_one),
		cmocka_unit_test(a_foreign_packet_among_the_datagrams_is_passed_over),
		cmocka_unit_test(frames_that_break_the_rules_are_malformed),
		cmocka_unit_test(an_attempt_has_an_end),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
