/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a gate answers, a terminal gets printable ASCII, and a shell only plain words. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sandbox/refused.h"
#include "sandbox/summary.h"

static void check_text(const char *s)
{
	const char *remedy = strstr(s, "to allow it: ");

	for (const char *c = s; *c; c++)
		if (*c != '\n' && (*c < 0x20 || *c > 0x7e))
			abort();
	if (remedy && strpbrk(remedy, "$`;&|<>()'\"\\*?!{}~#"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *argv[] = {"make", "check", NULL}, *written[] = {"--name", "box"};
	struct run_options again = {.argv = argv, .written = written, .n_written = 2};
	json_t *o = json_loadb((const char *)p, n, JSON_REJECT_DUPLICATES, NULL);
	struct suggestions refused = {.catalogue = catalogue_builtin()};
	struct summary_end end = {.refused = &refused,
				  .others = refused_read(o, &refused),
				  .o = &again,
				  .lasting = n & 1 ? "box" : NULL};
	char *text = summary_closing(&end);

	if (text)
		check_text(text);
	free(text);
	suggest_free(&refused);
	json_decref(o);
	return 0;
}
