/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dns_stream.h"

#include "gate/dns.h"

enum { PREFIX = 2 };

/* Moves octets from the front of *in until `want` are collected. */
static bool collect(struct dns_stream *s, struct span *in, size_t want)
{
	size_t n = want - s->have;

	if (n > in->n)
		n = in->n;
	if (n)
		memcpy(s->octets + s->have, in->p, n);
	s->have += (uint16_t)n;
	*in = span_of(in->p + n, in->n - n);
	return s->have == want;
}

enum dns_stream_event dns_stream_feed(struct dns_stream *s, struct span *in, struct span *message)
{
	size_t n;

	if (s->broken)
		return DNS_STREAM_BROKEN;
	if (s->have < PREFIX && !collect(s, in, PREFIX))
		return DNS_STREAM_MORE;
	n = (size_t)s->octets[0] << 8 | s->octets[1];
	if (n < DNS_HEADER || n > DNS_STREAM_MESSAGE_MAX) {
		s->broken = true;
		return DNS_STREAM_BROKEN;
	}
	if (!collect(s, in, PREFIX + n))
		return DNS_STREAM_MORE;
	s->have = 0;
	*message = span_of(s->octets + PREFIX, n);
	return DNS_STREAM_MESSAGE;
}
