/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_stream: DNS messages out of a TCP stream (RFC 7766, 8): two octets of length, then the
 * message, cut anywhere, several in a row. Pure: octets in, messages out.
 */
#ifndef SG_GATE_DNS_STREAM_H
#define SG_GATE_DNS_STREAM_H

#include <stdint.h>

#include "base/span.h"

/* A longer message is no question that the gate would answer: the stream is broken then. */
enum { DNS_STREAM_MESSAGE_MAX = 1024 };

struct dns_stream {
	uint16_t have; /* octets of length and message collected so far */
	bool broken;
	uint8_t octets[2 + DNS_STREAM_MESSAGE_MAX];
};

enum dns_stream_event {
	DNS_STREAM_MORE,    /* all of *in is taken; no whole message yet */
	DNS_STREAM_MESSAGE, /* *message is whole; it lives until the next feed; *in may hold more */
	DNS_STREAM_BROKEN,  /* a length that cannot be: close the connection */
};

static inline void dns_stream_init(struct dns_stream *s)
{
	s->have = 0;
	s->broken = false;
}

/* Takes octets from the front of *in, up to the end of one message. Call until not MESSAGE. */
enum dns_stream_event dns_stream_feed(struct dns_stream *s, struct span *in, struct span *message);

#endif
