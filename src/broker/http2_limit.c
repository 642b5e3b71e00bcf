/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2_limit.h"

#include <nghttp2/nghttp2.h>

enum {
	FRAME = 1000,	   /* thousandths */
	COST_SETTINGS = 4, /* frames: it is acknowledged, and may resize tables */
};

void http2_limit_begin(struct http2_limit *l, bool preface, mono_t now)
{
	*l = (struct http2_limit){.at = now, .left = preface ? HTTP2_PREFACE : 0};
}

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

/* By how many frames of noise a frame is one. What a stream is begun and cut by is counted where it
 * is. */
static unsigned noise_of(uint32_t length, uint8_t type, uint8_t flags)
{
	switch (type) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_RST_STREAM:
		return 0;
	case NGHTTP2_DATA:
		/* Padding may be all there is; octets pay for it. */
		if (flags & NGHTTP2_FLAG_PADDED)
			return 1;
		return length == 0 && !(flags & NGHTTP2_FLAG_END_STREAM);
	case NGHTTP2_SETTINGS:
		return COST_SETTINGS;
	default:
		return 1;
	}
}

static bool take_frame(struct http2_limit *l)
{
	struct reader r = reader_of(span_of(l->head, sizeof(l->head)));
	uint8_t type;

	l->head_n = 0;
	l->left = reader_u24(&r);
	type = reader_u8(&r);
	return http2_limit_count_noise(l, noise_of(l->left, type, reader_u8(&r)));
}

bool http2_limit_scan(struct http2_limit *l, struct span in)
{
	struct reader r = reader_of(in);
	size_t n;

	while (reader_left(&r)) {
		if (l->left) {
			n = l->left < reader_left(&r) ? l->left : reader_left(&r);
			reader_take(&r, n);
			l->left -= (uint32_t)n;
			continue;
		}
		l->head[l->head_n++] = reader_u8(&r);
		if (l->head_n == HTTP2_FRAME_HEAD && !take_frame(l))
			return false;
	}
	return true;
}
