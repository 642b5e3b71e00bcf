/* SPDX-License-Identifier: Apache-2.0 */
/* A request for a token: one that is within pulling is within pushing, and asks for no push. */
#include <stdlib.h>
#include <string.h>

#include "broker/form.h"
#include "broker/scope.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span form = span_of(data, size);
	struct form_pair pair;

	if (!scope_is_within(form, SCOPE_PULL))
		return 0;
	if (!scope_is_within(form, SCOPE_PUSH))
		abort();
	while (form_next(&form, &pair) == FORM_PAIR) {
		if (strcmp(pair.key, "scope") != 0)
			continue;
		/* an action stands behind a colon or a comma */
		if (strstr(pair.value, ":*") || strstr(pair.value, ",push") ||
		    (strstr(pair.value, ":push") && !strstr(pair.value, ":pull")))
			abort();
	}
	return 0;
}
