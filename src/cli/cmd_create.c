/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/known.h"
#include "cli/pcap_words.h"
#include "cli/run_words.h"
#include "cli/stored.h"

/* A name that is taken by one who takes that sandbox away, or has failed to start it, is free then. */
static int create_when_free(const struct run_options *o, struct err *e)
{
	struct err ignored;
	int status;

	do
		status = stored_create(o, e);
	while (status == STORED_TAKEN && known_find(o->name, &ignored) == KNOWN_NOT);
	return status == STORED_TAKEN ? EXIT_SANDGATE : status;
}

static int create(const struct args *a, const struct sources *s, struct err *e)
{
	struct policy_words words = run_words_policy(a);
	struct run_policy built;
	struct pcap_words pcap;
	struct run_options o = {.name = a->words[0], .policy = &built.policy, .sources = s};
	int status;

	if (pcap_words_read(a, args_value(a, CREATE_PCAP), &pcap, e))
		return EXIT_USAGE;
	status = run_policy_build(&words, s, &built, e);
	if (status)
		return status;
	o.pcap = pcap.request;
	run_words_options(a, &o);
	o.agent = built.agent;
	o.languages = built.languages;
	status = create_when_free(&o, e);
	run_policy_free(&built);
	return status;
}

int cmd_create(const struct args *a)
{
	struct sources s;
	struct err e;
	int status;

	if (run_words_check_name("create", a->words[0], &e) || run_words_check(a, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	status = create(a, &s, &e);
	sources_free(&s);
	return status ? cli_fail(status, &e) : 0;
}
