/* SPDX-License-Identifier: Apache-2.0 */
/* "TARGET" or "URL METHOD" of `net explain`, under a policy with a little of everything. */
#include <stdlib.h>

#include "broker/explain_request.h"
#include "fuzz.h"

static const char policy_text[] =
	"network: deny\n"
	"allow: ['*.example.com', 'db.example.com:5432', 10.0.0.0/8, '2001:db8::/32',\n"
	"        {host: get.example.com, methods: [GET], paths: ['/a/*']}]\n"
	"deny: [no.example.com, 10.1.0.0/16]\n"
	"permissions: [github]\n"
	"inspect: [seen.example.com]\n";

static struct ruleset *compile(void)
{
	const struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct ruleset *rs;
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(policy_text), POLICY_YAML, "f", &p, &e) ||
	    policy_resolve(&p, &sources, &e))
		abort();
	rs = ruleset_compile(&p, 1, &e);
	policy_free(&p);
	return rs;
}

static int parse(char *text, struct explain_target *t)
{
	char *method = strchr(text, ' ');
	struct err e;

	if (method)
		*method++ = 0;
	if (explain_parse_target(text, t, &e))
		return -1;
	return method ? explain_set_method(method, t, &e) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ruleset *rs = compile();
	char *text = strndup((const char *)data, size);
	const struct remedy_for who = {.sandbox = "box", .catalogue = catalogue_builtin()};
	struct explain_target t;
	struct explanation x;

	if (rs && text && parse(text, &t) == 0) {
		char *json, *shown;

		explain_decide(rs, NULL, &who, &t, &x);
		explain_request(rs, NULL, &who, &x);
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
