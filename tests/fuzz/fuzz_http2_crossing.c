/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a request of HTTP/2, on its way to a server of HTTP/1.1: http2_crossing.h has the
 * format. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "http2_crossing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct crossing c = {0};

	if (size <= 4096)
		c = crossing_try(span_of(data, size));
	if (c.wrong) {
		fprintf(stderr, "%s\n", c.wrong);
		abort();
	}
	return 0;
}
