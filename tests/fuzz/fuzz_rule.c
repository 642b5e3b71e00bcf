/* SPDX-License-Identifier: Apache-2.0 */
/* A rule that parses prints to a form that parses to itself; one that does not leaves nothing. */
#include <stdlib.h>

#include "fuzz.h"
#include "policy/rule.h"

static void check_round_trip(const struct rule *r)
{
	char once[RULE_TEXT_MAX], twice[RULE_TEXT_MAX], says[RULE_TEXT_MAX];
	struct rule again;
	struct err e;

	rule_format(r, once);
	rule_describe(r, says);
	if (rule_parse_short(span_of_string(once), (enum effect)r->effect, &again, &e))
		abort();
	rule_format(&again, twice);
	if (strcmp(once, twice) != 0 || !rule_has_same_target(r, &again))
		abort();
	rule_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rule empty;
	struct rule r;
	struct err e;

	for (int effect = EFFECT_DENY; effect <= EFFECT_ALLOW; effect++) {
		if (rule_parse_short(span_of(data, size), (enum effect)effect, &r, &e) == 0) {
			check_round_trip(&r);
			rule_clear(&r);
		} else if (memcmp(&r, &empty, sizeof(r)) != 0 || e.text[0] != '`') {
			abort();
		}
	}
	return 0;
}
