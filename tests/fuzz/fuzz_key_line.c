/* SPDX-License-Identifier: Apache-2.0 */
/* What passes for a line of a key log is one line, of three words, and fits where it is put. */
#include <stdlib.h>
#include <string.h>

#include "capture/key_line.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t blanks = 0;

	if (!key_line_valid(span_of(data, size)))
		return 0;
	for (size_t i = 0; i < size; i++) {
		blanks += data[i] == ' ';
		if (data[i] < ' ' || data[i] > '~')
			abort();
	}
	if (blanks != 2 || size > KEY_LINE_MAX)
		abort();
	return 0;
}
