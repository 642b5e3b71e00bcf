/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_refused: POLICY on the command line, the head of a request to a sandbox's host on standard
 * input: what the broker answers, as octets of HTTP/1.1. Nothing is printed when the request is
 * admitted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broker/http1_head.h"
#include "broker/http1_print.h"
#include "broker/judge_request.h"

static struct policy policy;

static struct ruleset *compile(const char *yaml)
{
	struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct ruleset *rules;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "policy", &policy, &e) ||
	    policy_resolve(&policy, &sources, &e) || !(rules = ruleset_compile(&policy, 1, &e)))
		die(2, "%s", e.text);
	return rules;
}

static void print(const struct message *request, const struct request_verdict *v)
{
	struct http1_text text = {0};
	struct message answer;
	struct body body = {0};
	struct span octets;

	message_init(&answer);
	if (!refusal_answer(request, v, &answer, &body) ||
	    !http1_print_answer(&text, &answer, HTTP1_FRAMING_LENGTH, "close"))
		die(2, "out of memory");
	octets = body_peek(&body);
	fwrite(text.p, 1, text.n, stdout);
	if (octets.n)
		fwrite(octets.p, 1, octets.n, stdout);
	http1_text_free(&text);
	message_free(&answer);
	body_free(&body);
}

int main(int argc, char **argv)
{
	static char head[MESSAGE_HEAD_MAX];
	struct ruleset *rules = compile(argc > 1 ? argv[1] : "");
	struct request_judge j = {.rules = rules,
				  .catalogue = catalogue_builtin(),
				  .remedy_for = {.sandbox = "demo",
						 .catalogue = catalogue_builtin(),
						 .on = policy.resolved.on}};
	struct request_verdict v;
	struct http1_hop hop;
	struct message m;
	const char *why;

	message_init(&m);
	if (http1_read_request(span_of(head, fread(head, 1, sizeof(head), stdin)), true, &m, &hop,
			       &why))
		die(2, "%s", why);
	judge_request(&j, &m, span_of(NULL, 0), true, &v);
	if (v.what == REQUEST_REFUSED)
		print(&m, &v);
	message_free(&m);
	ruleset_free(rules);
	policy_free(&policy);
	return 0;
}
