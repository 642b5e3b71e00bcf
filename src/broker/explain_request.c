/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/explain_request.h"

#include <stdio.h>
#include <string.h>

#include "broker/judge_request.h"
#include "policy/credential_use.h"

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

static bool is_server_of(const struct credential *c, const struct explain_target *t)
{
	return t->has_name && t->port == c->port && strcmp(t->name.s, c->host) == 0;
}

static void add_credential(struct explanation *x, const struct credential *c)
{
	char text[CREDENTIAL_TEXT_MAX];
	size_t n = strlen(x->credential);

	credential_describe(c, text);
	snprintf(x->credential + n, sizeof(x->credential) - n, "%s%s", n ? ", " : "", text);
}

/* Of two for one place the first one is added, as by the broker. */
static bool is_place_taken(const struct credential_list *list, const struct explain_target *t,
			   size_t i)
{
	const struct credential *v = list->v;

	for (size_t j = 0; j < i; j++)
		if (is_server_of(&v[j], t) && credential_has_same_place(&v[j], &v[i]) &&
		    credential_is_for(&v[j], span_of_string(t->method), span_of_string(t->path)))
			return true;
	return false;
}

/* A request that gets none though its server has one looks to a person as if it were not there. */
static void find_credentials(const struct credential_list *list, struct explanation *x)
{
	const struct explain_target *t = &x->target;
	bool here = false;

	for (size_t i = 0; i < list->n; i++) {
		const struct credential *c = &list->v[i];

		if (!is_server_of(c, t))
			continue;
		here = true;
		if (credential_is_for(c, span_of_string(t->method), span_of_string(t->path)) &&
		    !is_place_taken(list, t, i))
			add_credential(x, c);
	}
	if (here && !x->credential[0])
		put_note(x, "no credential of this host is bound to this method and path");
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
	if (x->verdict.allow)
		find_credentials(policy_credentials(ruleset_policy(rs)), x);
}
