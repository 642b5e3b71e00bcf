/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "cli/pcap_words.h"
#include "cli/run_named.h"
#include "cli/run_words.h"
#include "sandbox/run.h"

static int run_with(const struct args *a, const struct sources *s)
{
	struct policy_words words = run_words_policy(a);
	struct pcap_words pcap;
	struct run_policy built;
	struct run_options o = {
		.name = args_value(a, RUN_NAME),
		.policy = &built.policy,
		.sources = s,
		.policy_file = args_value(a, RUN_POLICY),
		.argv = run_words_command(a),
		.written = a->written,
		.n_written = a->n_written,
	};
	struct err e;
	int status;

	if (pcap_words_read(a, args_value(a, RUN_PCAP), &pcap, &e))
		return cli_fail(EXIT_USAGE, &e);
	status = run_policy_build(&words, s, &built, &e);
	if (status)
		return cli_fail(status, &e);
	o.pcap = pcap.request;
	run_words_options(a, &o);
	o.agent = built.agent;
	o.languages = built.languages;
	if (o.policy_file && strcmp(o.policy_file, "-") == 0)
		o.policy_file = NULL;
	status = o.name ? run_new(a, &o) : sandbox_run(&o);
	run_policy_free(&built);
	return status;
}

static int run(const struct args *a, const struct sources *s)
{
	const char *name = args_value(a, RUN_NAME);

	return name ? run_named(a, name, s, run_with) : run_with(a, s);
}

int cmd_run(const struct args *a)
{
	struct sources s;
	struct err e;
	int status;

	if (run_words_check_name("--name", args_value(a, RUN_NAME), &e) || run_words_check(a, &e) ||
	    run_words_check_command(a, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	status = run(a, &s);
	sources_free(&s);
	return status;
}
