/* SPDX-License-Identifier: Apache-2.0 */
/* What was confirmed is read whole or not at all, and answers for any folder. */
#include <stdlib.h>

#include "fuzz.h"
#include "sandbox/settings/trust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const folders[] = {"/", "/a", "/a/b/c", "", "a", "/home/u/p"};
	struct digest zero = {0};
	char *none[] = {NULL};
	struct trust t = {0};
	struct err e;

	if (trust_parse(span_of(data, size), "f", &t, &e)) {
		if (t.root)
			abort();
		return 0;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const json_t *list = trust_languages(&t, folders[i]);

		if (list && !json_is_array(list))
			abort();
		if (trust_has_file(&t, folders[i], &zero) && !trust_had_file(&t, folders[i]))
			abort();
		if (trust_has_languages(&t, folders[i], none) && !list)
			abort();
	}
	trust_free(&t);
	return 0;
}
