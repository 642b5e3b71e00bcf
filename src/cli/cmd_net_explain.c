/* SPDX-License-Identifier: Apache-2.0 */
/* net explain: what would happen to a destination, by the policy of a sandbox or of a file. */
#include <jansson.h>
#include <string.h>

#include "broker/explain_request.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/policy_file.h"
#include "cli/sandbox_policy.h"
#include "policy/explain.h"
#include "sandbox/engine/host_links.h"
#include "sandbox/run.h"

/* What judges, and for whom a remedy would be. */
struct judge {
	struct sandbox_policy p; /* of a file: only its policy and the sources */
	struct ruleset *rules;
	const char *sandbox; /* NULL: a file's */
};

static int take_sandbox(const char *name, struct judge *j, struct err *e)
{
	if (sandbox_policy_read(name, &j->p, e))
		return -1;
	j->sandbox = name;
	j->rules = ruleset_compile(&j->p.policy, j->p.generation, e);
	return j->rules ? 0 : -1;
}

static int take_file(const char *path, struct judge *j, struct err *e)
{
	struct policy_sources s;

	if (sources_read(&j->p.sources, e))
		return -1;
	s = sandbox_policy_sources(&j->p);
	if (policy_file_read(path, s.catalogue, &j->p.policy, NULL, e))
		return -1;
	if (policy_validate(&j->p.policy, e) || policy_resolve(&j->p.policy, &s, e))
		return err_prefix(e, "%s", policy_file_name(path));
	j->rules = ruleset_compile(&j->p.policy, 1, e);
	return j->rules ? 0 : -1;
}

static void let_go(struct judge *j)
{
	ruleset_free(j->rules);
	sandbox_policy_free(&j->p);
}

static void print_explanation(const struct explanation *x, const struct judge *j, bool as_json)
{
	char *text = as_json ? explain_print_json(x) : explain_print_text(x);
	json_t *model = as_json && text ? json_loads(text, 0, NULL) : NULL;

	if (!text || (as_json && !model))
		die(EXIT_SANDGATE, "out of memory");
	if (as_json) {
		json_object_set_new(model, "generation",
				    j->sandbox ? json_integer((json_int_t)j->p.generation)
					       : json_null());
		output_json(model);
	} else {
		output_text(text, STYLE_PLAIN);
		if (j->sandbox)
			printf("policy: generation %llu%s\n", (unsigned long long)j->p.generation,
			       j->p.runs ? "" : ", of the next start");
	}
	json_decref(model);
	free(text);
}

static int explain(struct judge *j, const struct explain_target *target, bool as_json,
		   struct err *e)
{
	const struct remedy_for who = {.sandbox = j->sandbox,
				       .catalogue = j->p.sources.catalogue,
				       .on = j->p.policy.resolved.on};
	struct host_prefixes host;
	struct explanation x;
	int r = host_links_read(&host);

	if (r)
		return err_set(e, "net explain: cannot read the host's addresses: %s",
			       strerror(-r));
	explain_decide(j->rules, &host, &who, target, &x);
	explain_request(j->rules, &host, &who, &x);
	print_explanation(&x, j, as_json);
	return 0;
}

/* `words` are TARGET, and METHOD or NULL. */
static int parse_words(const char *const *words, size_t n, struct explain_target *t, struct err *e)
{
	if (explain_parse_target(words[0], t, e))
		return -1;
	return n > 1 ? explain_set_method(words[1], t, e) : 0;
}

int cmd_net_explain(const struct args *a)
{
	const char *file = args_value(a, NET_EXPLAIN_POLICY);
	struct judge j = {.rules = NULL};
	struct explain_target target;
	size_t before = file ? 0 : 1;
	struct err e;
	int status = 0;

	policy_init(&j.p.policy);
	if (a->n_words <= before || a->n_words > before + 2) {
		err_set(&e, "net explain: needs a sandbox or --policy FILE, and a target; see "
			    "\"sandgate help net explain\"");
		return cli_fail(EXIT_USAGE, &e);
	}
	if (parse_words((const char *const *)a->words + before, a->n_words - before, &target, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (file ? take_file(file, &j, &e) : take_sandbox(a->words[0], &j, &e))
		status = cli_fail(file ? EXIT_USAGE : EXIT_SANDGATE, &e);
	else if (explain(&j, &target, args_has(a, NET_EXPLAIN_JSON), &e))
		status = cli_fail(EXIT_SANDGATE, &e);
	let_go(&j);
	return status;
}
