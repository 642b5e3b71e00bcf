/* SPDX-License-Identifier: Apache-2.0 */
/* Any octets as a proxy's answer to CONNECT: what is said of them holds for every longer run too. */
#include <stdlib.h>

#include "broker/tunnel_answer.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	enum tunnel_said before = TUNNEL_MORE;
	size_t head = 0, head_before = 0;
	unsigned status = 0;

	for (size_t seen = 0; seen <= n; seen++) {
		enum tunnel_said now = tunnel_answer_parse(span_of(p, seen), &status, &head);

		if (before != TUNNEL_MORE && (now != before || head != head_before))
			abort();
		if (now != TUNNEL_MORE && now != TUNNEL_MALFORMED && (head > seen || status < 100))
			abort();
		if (now == TUNNEL_MALFORMED)
			break;
		before = now;
		head_before = head;
	}
	return 0;
}
