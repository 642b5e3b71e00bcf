/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of packets, each with two octets of length before it. A whole packet is no longer than one
 * may be, of a version that there is, and says its own length. Cut, it is put together the same.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/fragments.h"
#include "gate/ip.h"

static const mono_t now = {1};

static size_t length_of(struct span s)
{
	return s.p[0] >> 4 == 4 ? (size_t)(s.p[2] << 8 | s.p[3])
				: (size_t)(s.p[4] << 8 | s.p[5]) + 40;
}

/* Of one without options only: those of others are not our own. */
static void cut_again(struct span whole)
{
	static uint8_t packet[IP_PACKET_MAX], piece[IP_PACKET_MAX];
	struct fragments *f;
	struct span again = {0};
	enum fragments_taken r = FRAGMENTS_REFUSED;
	size_t at = 0;

	if (whole.p[0] != 0x45 && whole.p[0] >> 4 != 6)
		return;
	memcpy(packet, whole.p, whole.n);
	if (whole.n <= 1280 || packet[6] == 44)
		return;
	f = fragments_new();
	do {
		struct buf b = buf_of(piece, sizeof(piece));

		at = fragments_cut(span_of(packet, whole.n), 1280, 7, at, &b);
		if (b.full || b.n > 1280)
			abort();
		r = fragments_take(f, buf_span(&b), now, &again);
	} while (at);
	if (r != FRAGMENTS_WHOLE || again.n != whole.n ||
	    memcmp(again.p + 20, packet + 20, again.n - 20))
		abort();
	free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(span_of(data, size));
	struct fragments *f = fragments_new();
	struct span whole;

	while (reader_left(&r) >= 2) {
		uint16_t n = reader_u16(&r);
		struct span piece = reader_take(&r, n < reader_left(&r) ? n : reader_left(&r));

		if (fragments_take(f, piece, now, &whole) != FRAGMENTS_WHOLE)
			continue;
		if (whole.n > IP_PACKET_MAX || whole.n < 20 || length_of(whole) != whole.n)
			abort();
		cut_again(whole);
	}
	free(f);
	return 0;
}
