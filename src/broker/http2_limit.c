/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2_limit.h"

enum { FRAME = 1000 /* thousandths */ };

static void leak(uint64_t *bucket, uint64_t n)
{
	*bucket -= n < *bucket ? n : *bucket;
}

void http2_limit_tick(struct http2_limit *l, mono_t now)
{
	/* Rounded down: what is left of a millisecond counts the next time. */
	int64_t ms = (now.ns - l->at.ns) / 1000000;

	if (ms <= 0)
		return;
	l->at = mono_add_ms(l->at, ms);
	leak(&l->noise, (uint64_t)ms * HTTP2_NOISE_PER_S);
	leak(&l->resets, (uint64_t)ms * HTTP2_RESET_PER_S);
}

bool http2_limit_count_noise(struct http2_limit *l, unsigned frames)
{
	l->noise += (uint64_t)frames * FRAME;
	return l->noise <= (uint64_t)HTTP2_NOISE_BURST * FRAME;
}

bool http2_limit_count_reset(struct http2_limit *l)
{
	l->resets += FRAME;
	return l->resets <= (uint64_t)HTTP2_RESET_BURST * FRAME;
}

void http2_limit_pay(struct http2_limit *l, unsigned frames)
{
	leak(&l->noise, (uint64_t)frames * FRAME);
}
