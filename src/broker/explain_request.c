/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/explain_request.h"

#include <stdio.h>
#include <string.h>

#include "broker/judge_request.h"

/* Of the operations that a body decides, some are told in JSON and others in a form. */
static const char *const types[] = {"application/json", "application/x-www-form-urlencoded"};

static void make_request(const struct explain_target *t, const char *type, struct message *m)
{
	bool safe = strcmp(t->method, "GET") == 0 || strcmp(t->method, "HEAD") == 0;

	message_init(m);
	m->method = span_of_string(t->method);
	m->scheme = span_of_string(t->port == 80 ? "http" : "https");
	m->path = span_of_string(t->path);
	m->has_host = t->has_name;
	m->host = t->name;
	m->address = t->addr;
	m->port = t->port;
	m->body = safe ? MESSAGE_BODY_NONE : MESSAGE_BODY_STREAM;
	/* Without memory for the field the request is judged as one that has none: refused. */
	if (!safe)
		(void)message_add(m, span_of_string("content-type"), span_of_string(type));
}

/* As the one of the two types that comes further. */
static void judge(const struct request_judge *j, const struct explain_target *t,
		  struct request_verdict *v)
{
	for (size_t i = 0; i < sg_array_len(types); i++) {
		struct message m;

		make_request(t, types[i], &m);
		judge_request(j, &m, span_of(NULL, 0), false, v);
		message_free(&m);
		if (v->what != REQUEST_REFUSED)
			return;
	}
}

static void put_note(struct explanation *x, const char *text)
{
	size_t n = strlen(x->note);

	snprintf(x->note + n, sizeof(x->note) - n, "%s%s", n ? "; " : "", text);
}

static void take_verdict(struct explanation *x, const struct request_verdict *v)
{
	if (v->operation)
		snprintf(x->operation, sizeof(x->operation), "%s", v->operation);
	if (v->permission)
		snprintf(x->operation_of, sizeof(x->operation_of), "%s", v->permission);
	if (v->what == REQUEST_NEEDS_BODY)
		put_note(x, "as long as its body asks for nothing else");
	if (v->what != REQUEST_REFUSED)
		return;
	x->verdict.allow = false;
	x->verdict.reason = v->reason;
	x->note[0] = 0;
	if (v->why)
		put_note(x, v->why);
	snprintf(x->remedy, sizeof(x->remedy), "%s", v->remedy);
}

void explain_request(const struct ruleset *rs, const struct host_prefixes *host,
		     const struct remedy_for *who, struct explanation *x)
{
	const struct explain_target *t = &x->target;
	const struct request_judge j = {
		.rules = rs,
		.catalogue = who->catalogue ? who->catalogue : catalogue_builtin(),
		.host = host,
		.addr = t->has_addr ? &t->addr : NULL,
		.by_proxy = true, /* explain_decide() said whether that way is open */
		.remedy_for = *who,
	};
	struct request_verdict v;

	if (!x->verdict.allow || !t->method[0] || x->inspects == INSPECTS_NOT)
		return;
	judge(&j, t, &v);
	take_verdict(x, &v);
}
