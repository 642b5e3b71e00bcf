/* SPDX-License-Identifier: Apache-2.0 */
/* A packet of the sandbox: what parses must lie inside it, and every answer to it must parse. */
#include <stdlib.h>

#include "gate/ip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct span whole, struct span part)
{
	if (part.n && (part.p < whole.p || part.p + part.n > whole.p + whole.n))
		abort();
}

static void check_answer(const struct buf *b)
{
	struct packet p;

	if (!b->full && packet_parse(buf_span(b), &p) != PACKET_OK)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t octets[IP_PACKET_MAX];
	struct packet p;
	enum packet_error e = packet_parse(span_of(data, size), &p);
	struct buf b = buf_of(octets, sizeof(octets));

	if (e != PACKET_OK && e != PACKET_OTHER_PROTOCOL)
		return 0;
	check_inside(span_of(data, size), p.whole);
	check_inside(p.whole, p.transport);
	packet_build_unreachable(&b, &p, UNREACHABLE_PROHIBITED);
	check_answer(&b);
	if (e != PACKET_OK)
		return 0;
	check_inside(p.transport, p.payload);
	if (p.proto != IP_TCP)
		return 0;
	b = buf_of(octets, sizeof(octets));
	packet_build_reset(&b, &p);
	check_answer(&b);
	return 0;
}
