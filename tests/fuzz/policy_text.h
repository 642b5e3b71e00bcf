/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_text: what must hold for any text taken as a policy file, in either language.
 *
 * A policy that is read prints to JSON that reads to the same in both languages,
 * and compiles; an error has a place and leaves the policy as it began.
 */
#ifndef SG_TESTS_FUZZ_POLICY_TEXT_H
#define SG_TESTS_FUZZ_POLICY_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "policy/decide.h"

static void check_reads_back(const char *text, enum policy_syntax syntax)
{
	struct policy again;
	struct err e;
	char *printed;

	if (policy_parse(span_of_string(text), syntax, "f", &again, &e))
		abort();
	printed = policy_print_json(&again);
	if (strcmp(printed, text) != 0)
		abort();
	free(printed);
	policy_free(&again);
}

static void check_policy(const struct policy *p)
{
	char *text = policy_print_json(p);
	struct ruleset *rs;
	struct err e;

	check_reads_back(text, POLICY_JSON);
	check_reads_back(text, POLICY_YAML);
	free(text);
	rs = ruleset_compile(p, 1, &e);
	ruleset_free(rs);
}

static int check_policy_text(const uint8_t *data, size_t size, enum policy_syntax syntax)
{
	struct policy p, empty;
	unsigned line, column;
	struct err e;

	if (policy_parse(span_of(data, size), syntax, "f", &p, &e) == 0) {
		check_policy(&p);
		policy_free(&p);
		return 0;
	}
	policy_init(&empty);
	if (memcmp(&p, &empty, sizeof(p)) != 0 || sscanf(e.text, "f:%u:%u: ", &line, &column) != 2)
		abort();
	if (line == 0 || column == 0)
		abort();
	return 0;
}

#endif
