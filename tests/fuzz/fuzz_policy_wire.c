/* SPDX-License-Identifier: Apache-2.0 */
/* A policy as the gate gets it: what is read prints to what reads the same, and is never a file's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "policy/decide.h"

static void check_reads_back(const struct policy *p)
{
	char *text = policy_print_wire(p), *again;
	struct policy back;
	struct err e;

	if (!text || policy_parse_wire(span_of_string(text), &back, &e))
		abort();
	again = policy_print_wire(&back);
	if (!again || strcmp(again, text) != 0)
		abort();
	policy_free(&back);
	free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy p, empty;
	struct err e;

	policy_init(&empty);
	if (policy_parse_wire(span_of(data, size), &p, &e) == 0) {
		bool resolved = p.resolved.done;

		check_reads_back(&p);
		ruleset_free(ruleset_compile(&p, 1, &e));
		policy_free(&p);
		if (resolved && policy_parse(span_of(data, size), POLICY_JSON, "f", &p, &e) == 0)
			abort();
	}
	if (memcmp(&p, &empty, sizeof(p)) != 0)
		abort();
	return 0;
}
