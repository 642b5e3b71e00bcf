/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request, an empty line, its body, to a sandbox with permissions for reading. What
 * is admitted is no write; what is refused has an answer that is whole.
 */
#include <stdlib.h>
#include <string.h>

#include "broker/http1_head.h"
#include "broker/judge_request.h"
#include "fuzz.h"

static const char policy_text[] = "network: deny\npermissions: [github, install:node, "
				  "install:container, model:anthropic]\n";

static struct ruleset *compile(struct policy *p)
{
	struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct ruleset *rules;
	struct err e;

	if (policy_parse(span_of_string(policy_text), POLICY_YAML, "policy", p, &e) ||
	    policy_resolve(p, &sources, &e) || !(rules = ruleset_compile(p, 1, &e)))
		abort();
	return rules;
}

static int is_method(const struct message *m, const char *method)
{
	return span_equal(m->method, span_of_string(method));
}

static void check_answer(const struct message *m, const struct request_verdict *v)
{
	struct message answer;
	struct body body = {0};

	message_init(&answer);
	if (!refusal_answer(m, v, &answer, &body) || !body.ended)
		abort();
	if (answer.status == 0 || answer.n_fields == 0)
		abort();
	message_free(&answer);
	body_free(&body);
}

static void judge(const struct request_judge *j, const struct message *m, struct span text)
{
	struct request_verdict v;

	judge_request(j, m, span_of(NULL, 0), false, &v);
	if (v.what == REQUEST_NEEDS_BODY)
		judge_request(j, m, text, true, &v);
	if (v.what == REQUEST_NEEDS_BODY)
		abort();
	if (v.what == REQUEST_REFUSED)
		check_answer(m, &v);
	else if (!is_method(m, "GET") && !is_method(m, "HEAD") && !is_method(m, "POST"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy policy;
	static struct ruleset *rules;
	const uint8_t *end = size ? memmem(data, size, "\r\n\r\n", 4) : NULL;
	size_t head = end ? (size_t)(end - data) + 4 : 0;
	struct request_judge j;
	struct http1_hop hop;
	struct message m;
	const char *why;

	if (!rules)
		rules = compile(&policy);
	j = (struct request_judge){
		.rules = rules,
		.catalogue = catalogue_builtin(),
		.remedy_for = {.sandbox = "demo", .catalogue = catalogue_builtin()}};
	message_init(&m);
	if (head && http1_read_request(span_of(data, head), true, &m, &hop, &why) == 0)
		judge(&j, &m, span_of(data + head, size - head));
	message_free(&m);
	return 0;
}
