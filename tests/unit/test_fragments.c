/* SPDX-License-Identifier: Apache-2.0 */
/* Packets in pieces: cut, and put together again by the pieces as they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "gate/fragments.h"
#include "gate/ip.h"

enum { PIECES = 64, MTU = 1500 };

static const mono_t now = {1000000000};

struct pieces {
	struct span piece[PIECES];
	size_t n;
	uint8_t octets[PIECES][IP_PACKET_MAX];
};

static struct pieces cut;

static struct addr addr(const char *text)
{
	struct addr a;

	assert_true(addr_parse(text, strlen(text), &a));
	return a;
}

static struct buf datagram(uint8_t *octets, bool v4, size_t n)
{
	struct endpoint src = {addr(v4 ? "192.0.0.2" : "fd73:616e:6467:1::2"), 4000},
			dst = {addr(v4 ? "93.184.0.1" : "2a00:1::1"), 5000};
	struct buf b = buf_of(octets, IP_PACKET_MAX);
	uint8_t *payload = malloc(n + 1);

	assert_non_null(payload);
	for (size_t i = 0; i < n; i++)
		payload[i] = (uint8_t)(i * 7 + i / 256);
	packet_build_udp(&b, &src, &dst, span_of(payload, n));
	free(payload);
	assert_false(b.full);
	return b;
}

static void cut_it(struct span packet, uint32_t mtu, uint32_t id)
{
	size_t at = 0;

	cut.n = 0;
	do {
		struct buf b = buf_of(cut.octets[cut.n], IP_PACKET_MAX);

		assert_true(cut.n < PIECES);
		at = fragments_cut(packet, mtu, id, at, &b);
		assert_false(b.full);
		assert_true(b.n <= mtu);
		cut.piece[cut.n++] = buf_span(&b);
	} while (at);
}

/* From memory of just its size. */
static enum fragments_taken take_at(struct fragments *f, struct span s, mono_t when,
				    struct span *whole)
{
	uint8_t *p = malloc(s.n ? s.n : 1);
	enum fragments_taken r;

	assert_non_null(p);
	if (s.n)
		memcpy(p, s.p, s.n);
	r = fragments_take(f, span_of(p, s.n), when, whole);
	free(p);
	return r;
}

static enum fragments_taken take(struct fragments *f, struct span s, struct span *whole)
{
	return take_at(f, s, now, whole);
}

static void there_and_back(void **state)
{
	static const size_t sizes[] = {1473, 3000, 30000, 65507 - 20};
	static uint8_t octets[IP_PACKET_MAX];
	struct fragments *f = fragments_new();

	for (size_t i = 0; i < 8; i++) {
		struct buf b = datagram(octets, i % 2, sizes[i / 2]);
		struct span whole;
		struct packet p;

		cut_it(buf_span(&b), MTU, (uint32_t)i);
		assert_true(cut.n > 1);
		for (size_t n = 0; n + 1 < cut.n; n++) {
			assert_int_equal(packet_parse(cut.piece[n], &p), PACKET_FRAGMENT);
			assert_int_equal(take(f, cut.piece[n], &whole), FRAGMENTS_MORE);
		}
		assert_int_equal(take(f, cut.piece[cut.n - 1], &whole), FRAGMENTS_WHOLE);
		assert_int_equal(packet_parse(whole, &p), PACKET_OK);
		assert_int_equal(p.payload.n, sizes[i / 2]);
		assert_memory_equal(p.payload.p, octets + b.n - sizes[i / 2], sizes[i / 2]);
	}
	free(f);
}

static void what_does_not_follow(void **state)
{
	static uint8_t octets[IP_PACKET_MAX];
	struct fragments *f = fragments_new();
	struct span whole;

	for (int v4 = 0; v4 < 2; v4++) {
		struct buf b = datagram(octets, v4, 6000);

		cut_it(buf_span(&b), MTU, 9);
		assert_int_equal(cut.n, 5);
		/* Nothing before the first; none left out, none twice; and then it is over. */
		assert_int_equal(take(f, cut.piece[1], &whole), FRAGMENTS_REFUSED);
		assert_int_equal(take(f, cut.piece[0], &whole), FRAGMENTS_MORE);
		assert_int_equal(take(f, cut.piece[2], &whole), FRAGMENTS_REFUSED);
		assert_int_equal(take(f, cut.piece[1], &whole), FRAGMENTS_REFUSED);
		assert_int_equal(take(f, cut.piece[0], &whole), FRAGMENTS_MORE);
		assert_int_equal(take(f, cut.piece[1], &whole), FRAGMENTS_MORE);
		assert_int_equal(take(f, cut.piece[1], &whole), FRAGMENTS_REFUSED);
		/* A first one begins anew. */
		assert_int_equal(take(f, cut.piece[0], &whole), FRAGMENTS_MORE);
		assert_int_equal(take(f, cut.piece[0], &whole), FRAGMENTS_MORE);
		assert_int_equal(take(f, cut.piece[1], &whole), FRAGMENTS_MORE);
		/* Too late. */
		assert_int_equal(take_at(f, cut.piece[2], mono_add_ms(now, 3000), &whole),
				 FRAGMENTS_REFUSED);
	}
	free(f);
}

/* Between each other's pieces; one sender more than there are places loses the oldest. */
static void several(void **state)
{
	static struct pieces all[5];
	static uint8_t octets[IP_PACKET_MAX];
	struct fragments *f = fragments_new();
	struct buf b = datagram(octets, true, 3000);
	struct span whole;

	for (uint32_t i = 0; i < 5; i++) {
		cut_it(buf_span(&b), MTU, 100 + i);
		all[i] = cut;
		for (size_t n = 0; n < cut.n; n++)
			all[i].piece[n].p = all[i].octets[n];
	}
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(take_at(f, all[i].piece[0], mono_add_ms(now, (int64_t)i), &whole),
				 FRAGMENTS_MORE);
	assert_int_equal(take(f, all[0].piece[1], &whole), FRAGMENTS_REFUSED);
	for (size_t n = 1; n < 3; n++)
		for (size_t i = 1; i < 5; i++)
			assert_int_equal(take(f, all[i].piece[n], &whole),
					 n == 2 ? FRAGMENTS_WHOLE : FRAGMENTS_MORE);
	free(f);
}

static void wrong_pieces(void **state)
{
	static uint8_t octets[IP_PACKET_MAX];
	struct fragments *f = fragments_new();
	struct span whole;

	for (int v4 = 0; v4 < 2; v4++) {
		struct buf b = datagram(octets, v4, 3000);
		size_t header = v4 ? 20 : 48;
		uint8_t *p;

		cut_it(buf_span(&b), MTU, 9);
		p = cut.octets[0];
		for (size_t n = 0; n < header + 8; n++)
			assert_int_equal(take(f, span_of(p, n), &whole), FRAGMENTS_REFUSED);
		/* More to come, of no octets or of no whole unit. */
		for (uint16_t length = 0; length < 8; length++) {
			p[v4 ? 2 : 4] = 0;
			p[v4 ? 3 : 5] = (uint8_t)(length + (v4 ? 20 : 8));
			assert_int_equal(take(f, cut.piece[0], &whole), FRAGMENTS_REFUSED);
		}
	}
	/* One that is whole is no piece. */
	for (int v4 = 0; v4 < 2; v4++) {
		struct buf b = datagram(octets, v4, 100);

		assert_int_equal(take(f, buf_span(&b), &whole), FRAGMENTS_REFUSED);
	}
	assert_int_equal(take(f, span_of("\x50", 1), &whole), FRAGMENTS_REFUSED);
	free(f);
}

/* Pieces that together are more than a packet may be. */
static void too_long(void **state)
{
	static uint8_t octets[IP_PACKET_MAX];
	struct fragments *f = fragments_new();
	struct buf b = datagram(octets, true, 65400);
	struct span whole;
	uint8_t *last;

	cut_it(buf_span(&b), MTU, 9);
	for (size_t n = 0; n + 1 < cut.n; n++)
		assert_int_equal(take(f, cut.piece[n], &whole), FRAGMENTS_MORE);
	last = cut.octets[cut.n - 1];
	last[2] = 0x05;
	last[3] = 0xdc;
	assert_int_equal(take(f, span_of(last, MTU), &whole), FRAGMENTS_REFUSED);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back), cmocka_unit_test(what_does_not_follow),
		cmocka_unit_test(several),	  cmocka_unit_test(wrong_pieces),
		cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
