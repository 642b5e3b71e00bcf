/* SPDX-License-Identifier: Apache-2.0 */
/* A line that is an entry is its own canonical text, of printable ASCII, whoever wrote it. */
#include <stdlib.h>

#include "audit/canonical.h"
#include "audit/entry.h"
#include "audit/tally.h"
#include "fuzz.h"

static void check_text(const struct entry *en, struct span line)
{
	size_t n;
	char *again = canonical_print(en->value, &n);

	if (!again || !span_equal(line, span_of(again, n)))
		abort();
	free(again);
	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] < 0x20 || line.p[i] > 0x7e)
			abort();
	if (entry_parse_time(en->time) < 0 || en->seq > INT64_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tally tally;
	struct entry en;
	struct err e;

	if (entry_parse(span_of(data, size), &en, &e) < 0)
		return 0;
	check_text(&en, span_of(data, size));
	tally_init(&tally, "sandgate/host/p1", false);
	for (int i = 0; i < 3; i++)
		if (tally_add(&tally, en.value, &e) < 0 && !e.text[0])
			abort();
	tally_free(&tally);
	entry_free(&en);
	return 0;
}
