/* SPDX-License-Identifier: Apache-2.0 */
/* A message of the gate: what parses prints to the same octets. */
#include <stdlib.h>

#include "io/gate_message.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));
	struct gate_message m;

	if (!gate_message_parse(span_of(data, size), &m))
		return 0;
	gate_message_print(&m, &b);
	if (b.full || !span_equal(buf_span(&b), span_of(data, size)))
		abort();
	return 0;
}
