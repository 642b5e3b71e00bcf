/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first octet says what was asked and in which steps the rest arrives from a server. However it
 * arrives, the same is told.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "http1_probe.h"

enum { ENDS = 0x80, STEP_MASK = 0x1f };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const asked[] = {
		"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 9\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
	};
	struct outcome whole, cut;
	struct probe_way way;

	if (size < 2)
		return 0;
	way = (struct probe_way){.ask = asked[data[0] >> 5 & 3], .ends = data[0] & ENDS};
	whole = probe_client(span_of(data + 1, size - 1), way);
	way.step = (data[0] & STEP_MASK) + 1u;
	cut = probe_client(span_of(data + 1, size - 1), way);
	if (!outcome_is_same(&whole, &cut))
		abort();
	outcome_free(&whole);
	outcome_free(&cut);
	return 0;
}
