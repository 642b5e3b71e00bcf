/* SPDX-License-Identifier: Apache-2.0 */
/* The first line is a pattern, the rest the target of a request. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *target;
	char *patterns[2] = {NULL, NULL};
	bool every, some;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	target = strchr(text, '\n');
	if (target && target - text < PATH_PATTERN_MAX_OCTETS) {
		*target++ = 0;
		patterns[0] = text;
		every = path_matches_every_reading(patterns, target);
		some = path_matches_some_reading(patterns, target);
		/* what all readings match some reading matches; `*` is left by no reading */
		if (every && !some)
			abort();
		if (every && target[0] != '/')
			abort();
	}
	free(text);
	return 0;
}
