/* SPDX-License-Identifier: Apache-2.0 */
/* The target of `net explain`, under a policy with a little of everything. */
#include <stdlib.h>

#include "fuzz.h"
#include "policy/explain.h"

static const char policy_text[] =
	"network: deny\n"
	"allow: ['*.example.com', 'db.example.com:5432', 10.0.0.0/8, '2001:db8::/32',\n"
	"        {host: get.example.com, ports: [80], methods: [GET], paths: ['/a/*']}]\n"
	"deny: [no.example.com, 10.1.0.0/16]\n";

static struct ruleset *compile(void)
{
	struct ruleset *rs;
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(policy_text), POLICY_YAML, "f", &p, &e))
		abort();
	rs = ruleset_compile(&p, 1, &e);
	policy_free(&p);
	return rs;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ruleset *rs = compile();
	char *text = strndup((const char *)data, size);
	struct explain_target t;
	struct explanation x;
	struct err e;

	if (rs && text && explain_parse_target(text, &t, &e) == 0) {
		char *json, *shown;

		explain_decide(rs, NULL, &(struct remedy_for){.sandbox = "box"}, &t, &x);
		json = explain_print_json(&x);
		shown = explain_print_text(&x);
		if (!json || !shown || (x.verdict.allow && x.remedy[0]))
			abort();
		free(json);
		free(shown);
	}
	free(text);
	ruleset_free(rs);
	return 0;
}
