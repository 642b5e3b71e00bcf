/* SPDX-License-Identifier: Apache-2.0 */
/* However a stream is cut, the same messages come out. The first octet says how it is cut. */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/dns_stream.h"

/* A number that any difference in the messages, their order or the end changes. */
static uint64_t digest(const uint8_t *data, size_t size, size_t piece)
{
	struct dns_stream s;
	uint64_t sum = 14695981039346656037u;

	dns_stream_init(&s);
	for (size_t at = 0; at < size; at += piece) {
		struct span in = span_of(data + at, size - at < piece ? size - at : piece), m;
		enum dns_stream_event e;

		while ((e = dns_stream_feed(&s, &in, &m)) == DNS_STREAM_MESSAGE) {
			if (m.n < 12 || m.n > DNS_STREAM_MESSAGE_MAX)
				abort();
			for (size_t i = 0; i < m.n; i++)
				sum = (sum ^ m.p[i]) * 1099511628211u;
			sum = (sum ^ m.n) * 1099511628211u;
		}
		if (e == DNS_STREAM_BROKEN)
			return ~sum;
		if (in.n)
			abort();
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (digest(data + 1, size - 1, 1 + data[0]) != digest(data + 1, size - 1, size))
		abort();
	return 0;
}
