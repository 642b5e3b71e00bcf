/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces with two octets of length each. With an even first octet they are datagrams; with an odd
 * one they are the frames of Initials, which are sealed here, since chance does not find keys.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gate/quic_initial.h"
#include "../unit/quic_seal.h"

enum { SEALED = 1, VERSION_2 = 2 };

static struct quic_initial attempt;

static void start(void)
{
	static bool started;
	struct err e;

	if (!started && quic_initial_init(&e) != 0)
		abort();
	started = true;
}

static enum quic_state feed(struct span piece, uint8_t mode, uint8_t number)
{
	static uint8_t datagram[70000];
	static const uint8_t id[] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct buf b = buf_of(datagram, sizeof(datagram));
	struct tls_hello hello;

	if (!(mode & SEALED))
		return quic_initial_feed(&attempt, piece, &hello);
	if (piece.n < 4 || piece.n > 60000)
		return QUIC_NEED_MORE;
	seal_initial(&b, mode & VERSION_2 ? SEAL_V2 : SEAL_V1, span_of(id, sizeof(id)), number,
		     piece);
	return quic_initial_feed(&attempt, buf_span(&b), &hello);
}

static void check_attempt(void)
{
	if (attempt.ready > QUIC_CRYPTO_MAX || attempt.datagrams > QUIC_DATAGRAMS_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(span_of(data, size));
	uint8_t mode = reader_u8(&r), number = 0;
	enum quic_state state = QUIC_NEED_MORE;

	start();
	quic_initial_begin(&attempt);
	while (state == QUIC_NEED_MORE && reader_left(&r)) {
		size_t n = reader_u16(&r), left = reader_left(&r);

		state = feed(reader_take(&r, n < left ? n : left), mode, number++);
		if (mode & SEALED && state == QUIC_NOT_INITIAL)
			abort();
		check_attempt();
	}
	return 0;
}
