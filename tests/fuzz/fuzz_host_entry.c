/* SPDX-License-Identifier: Apache-2.0 */
/* A host of `inspect` that is taken prints to what is taken as the same host. */
#include <stdlib.h>

#include "fuzz.h"
#include "policy/host_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_list once = {.n = 0}, twice = {.n = 0};
	char text[HOST_PATTERN_TEXT_MAX];
	struct err e;

	if (host_entry_add(&once, span_of(data, size), &e) == 0) {
		host_pattern_format(&once.v[0], text);
		if (host_entry_add(&twice, span_of_string(text), &e) != 0 ||
		    !host_list_equal(&once, &twice))
			abort();
	} else if (once.n != 0 || e.text[0] != '`') {
		abort();
	}
	host_list_free(&once);
	host_list_free(&twice);
	return 0;
}
