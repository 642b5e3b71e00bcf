/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/since.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);
	struct err e;
	int64_t ms;

	if (text && size)
		memcpy(text, data, size);
	if (text && since_parse(text, 0, &ms, &e) == 0 && ms < -86400000)
		abort();
	free(text);
	return 0;
}
