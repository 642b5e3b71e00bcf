/* SPDX-License-Identifier: Apache-2.0 */
/* A placeholder in a text is found, whatever stands around it; nothing but one holds one. */
#include <stdio.h>
#include <stdlib.h>

#include "broker/placeholder.h"
#include "fuzz.h"

static const char one[] = PLACEHOLDER_PREFIX "00112233445566778899aabbccddeeff";

/* Put into the middle of the octets, where no `%`, `\` or base64 of theirs runs into it. */
static void check_is_found(const uint8_t *data, size_t size)
{
	size_t half = size / 2, n = sizeof(one) - 1;
	uint8_t *text = malloc(size + n + 2);

	memcpy(text, data, half);
	text[half] = ' ';
	memcpy(text + half + 1, one, n);
	text[half + 1 + n] = ' ';
	memcpy(text + half + n + 2, data + half, size - half);
	if (!placeholder_is_in(span_of(text, size + n + 2)))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of(data, size);

	if (placeholder_is_all(text) && !placeholder_is_in(text))
		abort();
	placeholder_is_in(text);
	check_is_found(data, size);
	return 0;
}
