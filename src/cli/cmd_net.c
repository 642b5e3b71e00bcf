/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/policy_file.h"
#include "policy/explain.h"
#include "sandbox/host_links.h"
#include "sandbox/run.h"

/* The policy in force in a running sandbox. */
static struct ruleset *rules_of_sandbox(const char *name, struct err *e)
{
	json_t *answer = ask_sandbox(name, "policy", e);
	struct ruleset *rs = NULL;
	struct policy p;
	char *text;

	if (!answer)
		return NULL;
	text = json_dumps(json_object_get(answer, "policy"), JSON_COMPACT);
	if (!text)
		err_set(e, "%s: the sandbox did not give its policy", name);
	else if (policy_parse(span_of_string(text), POLICY_JSON, name, &p, e) == 0) {
		json_t *generation = json_object_get(answer, "generation");

		rs = ruleset_compile(&p, (uint64_t)json_integer_value(generation), e);
		policy_free(&p);
	}
	free(text);
	json_decref(answer);
	return rs;
}

static struct ruleset *rules_of_file(const char *path, struct err *e)
{
	struct ruleset *rs = NULL;
	struct policy p;

	if (policy_file_read(path, &p, e))
		return NULL;
	if (policy_validate(&p, e))
		err_prefix(e, "%s", policy_file_name(path));
	else
		rs = ruleset_compile(&p, 1, e);
	policy_free(&p);
	return rs;
}

static void print_explanation(const struct explanation *x, bool as_json)
{
	char *text = as_json ? explain_print_json(x) : explain_print_text(x);
	json_t *model = as_json && text ? json_loads(text, 0, NULL) : NULL;

	if (!text || (as_json && !model))
		die(EXIT_SANDGATE, "out of memory");
	if (as_json)
		output_json(model);
	else
		output_text(text, STYLE_PLAIN);
	json_decref(model);
	free(text);
}

int cmd_net_explain(const struct args *a)
{
	const char *file = args_value(a, NET_EXPLAIN_POLICY);
	const char *sandbox = file ? NULL : a->words[0];
	struct host_prefixes host;
	struct explain_target target;
	struct explanation x;
	struct ruleset *rs;
	struct err e;
	int r;

	if (a->n_words != (file ? 1u : 2u)) {
		err_set(&e,
			"net explain: needs a running sandbox or --policy FILE, and a target; see "
			"\"sandgate help net explain\"");
		return cli_fail(EXIT_USAGE, &e);
	}
	if (explain_parse_target(a->words[a->n_words - 1], &target, &e))
		return cli_fail(EXIT_USAGE, &e);
	r = host_links_read(&host);
	if (r) {
		err_set(&e, "net explain: cannot read the host's addresses: %s", strerror(-r));
		return cli_fail(EXIT_SANDGATE, &e);
	}
	rs = file ? rules_of_file(file, &e) : rules_of_sandbox(sandbox, &e);
	if (!rs)
		return cli_fail(file ? EXIT_USAGE : EXIT_SANDGATE, &e);
	explain_decide(rs, &host, &(struct remedy_for){.sandbox = sandbox}, &target, &x);
	print_explanation(&x, args_has(a, NET_EXPLAIN_JSON));
	ruleset_free(rs);
	return 0;
}
