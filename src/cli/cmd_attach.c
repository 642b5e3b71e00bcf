/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/attach_target.h"
#include "cli/cli.h"
#include "cli/container_trust.h"
#include "cli/output.h"
#include "cli/pcap_words.h"
#include "cli/question.h"
#include "cli/run_policy.h"
#include "cli/run_words.h"
#include "sandbox/attach.h"
#include "sandbox/engine/netns.h"
#include "sandbox/engine/netns_claim.h"
#include "sandbox/run.h"
#include "sandbox/sandbox_name.h"

/* Before the question: what would be taken away there is the gate's own link. */
static int check_claim(int netns, struct err *e)
{
	char of[SANDBOX_NAME_SIZE];
	int found = netns_claim_find(netns, of, e);

	return found == 1 ? netns_claim_refuse(of, e) : found;
}

/* What else leads out is somebody's network: it is not taken away unasked. */
static int ask(const struct args *a, const struct attach_target *t, struct err *e)
{
	char ways[NETNS_WAYS_MAX], text[NETNS_WAYS_MAX + 128];

	if (args_has(a, ATTACH_REFUSE_OTHERS))
		return 0;
	if (netns_list_ways(t->netns, 0, ways, e))
		return -1;
	if (!*ways)
		return 0;
	snprintf(
		text, sizeof(text),
		"%s will be taken away from the namespace, with its addresses and routes; detaching "
		"does not bring it back",
		ways);
	return question_ask(text, args_has(a, ATTACH_YES), e);
}

static int attach(const struct args *a, const struct sources *s, const struct attach_target *t,
		  const struct run_policy *p, const struct pcap_words *pcap, struct err *e)
{
	struct attach_request r = {
		.name = args_value(a, ATTACH_NAME),
		.name_from = t->name,
		.engine = t->engine,
		.netns = t->netns,
		.alive = t->alive,
		.policy = &p->policy,
		.agent = p->agent,
		.sources = s,
		.others = args_has(a, ATTACH_REFUSE_OTHERS) ? AIRLOCK_OTHERS_REFUSED
							    : AIRLOCK_OTHERS_REMOVED,
		.quiet = args_has(a, ATTACH_QUIET),
		.pcap = pcap->request,
	};
	char name[SANDBOX_NAME_SIZE];

	if (check_claim(t->netns, e) || ask(a, t, e) || attach_start(&r, name, e))
		return EXIT_SANDGATE;
	if (container_trust_is_wanted(p, s) && !r.quiet)
		container_trust_attach(name, t->alive);
	puts(name);
	return 0;
}

/* The policy first: nothing is looked at before all that was written is known to be right. */
static int attach_with(const struct args *a, const struct sources *s, struct err *e)
{
	const struct attach_words target = {
		.netns = args_value(a, ATTACH_NETNS),
		.pid = args_value(a, ATTACH_PID),
		.container = args_value(a, ATTACH_CONTAINER),
	};
	struct policy_words words = run_words_policy(a);
	struct attach_target t;
	struct pcap_words pcap;
	struct run_policy built;
	int status;

	if (pcap_words_read(a, args_value(a, ATTACH_PCAP), &pcap, e))
		return EXIT_USAGE;
	words.elsewhere = true;
	status = run_policy_build(&words, s, &built, e);
	if (status)
		return status;
	status = attach_target_find(&target, &t, e);
	if (status == 0) {
		status = attach(a, s, &t, &built, &pcap, e);
		attach_target_close(&t);
	}
	run_policy_free(&built);
	return status;
}

int cmd_attach(const struct args *a)
{
	struct sources s;
	struct err e;
	int status;

	if (run_words_check_name("--name", args_value(a, ATTACH_NAME), &e))
		return cli_fail(EXIT_USAGE, &e);
	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	status = attach_with(a, &s, &e);
	sources_free(&s);
	return status ? cli_fail(status, &e) : 0;
}
