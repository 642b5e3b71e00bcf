/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_limit: how much a peer may ask of a connection that does not further an exchange (RFC
 * 9113, 10.5).
 *
 * Two leaky buckets, fed by the frames and emptied by the time, which the caller tells. What
 * furthers an exchange empties the first one as well: a client answers data with WINDOW_UPDATE, and
 * gRPC measures with a PING a round trip.
 */
#ifndef SG_BROKER_HTTP2_LIMIT_H
#define SG_BROKER_HTTP2_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/span.h"

enum {
	HTTP2_FRAME_HEAD = 9,
	HTTP2_PREFACE = 24,
	HTTP2_NOISE_BURST = 1000, /* frames that say nothing of an exchange */
	HTTP2_NOISE_PER_S = 100,
	HTTP2_RESET_BURST = 500, /* streams that were begun and cut, by either side */
	HTTP2_RESET_PER_S = 50,
};

struct http2_limit {
	mono_t at;			/* of the last tick */
	uint64_t noise, resets;		/* in thousandths of a frame */
	uint8_t head[HTTP2_FRAME_HEAD]; /* of the frame that comes, as far as it came */
	unsigned head_n;
	uint32_t left; /* octets of the preface, or of a frame, that are yet to come */
};

/* `preface`: the octets begin with that of a client. */
void http2_limit_begin(struct http2_limit *l, bool preface, mono_t now);
void http2_limit_tick(struct http2_limit *l, mono_t now);
/* Counts the frames in octets of the peer, also those that nghttp2 skips. False: over the limit,
 * which is final. */
bool http2_limit_scan(struct http2_limit *l, struct span in);
bool http2_limit_count_noise(struct http2_limit *l, unsigned frames);
bool http2_limit_count_reset(struct http2_limit *l);
/* Something was done for an exchange that is worth so many frames of noise. */
void http2_limit_pay(struct http2_limit *l, unsigned frames);

#endif
