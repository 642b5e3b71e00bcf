/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/host_conflict.h"

#include "policy/host_entry.h"
#include "policy/match.h"
#include "policy/rule.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443 };

/* Ends `name` in a dot and `domain`? */
static bool is_below(const char *name, const char *domain)
{
	size_t n = strlen(name), m = strlen(domain);

	return n > m && name[n - m - 1] == '.' && strcmp(name + n - m, domain) == 0;
}

/* Is every name of `b`, below it or itself, one of `a`? */
static bool holds(const char *a, bool a_below, const char *b, bool b_below)
{
	if (a_below == b_below && strcmp(a, b) == 0)
		return true;
	return a_below && is_below(b, a);
}

static bool pattern_holds_rule(const struct host_pattern *p, const struct rule *r)
{
	return r->kind != TARGET_PREFIX &&
	       holds(p->name, p->below, rule_name(r), r->kind == TARGET_WILDCARD);
}

/* Is some name one of both? */
static bool pattern_meets_rule(const struct host_pattern *p, const struct rule *r)
{
	return pattern_holds_rule(p, r) ||
	       (r->kind != TARGET_PREFIX &&
		holds(rule_name(r), r->kind == TARGET_WILDCARD, p->name, p->below));
}

/* ---- A host in both lists ---- */

static int check_inspect(const struct policy *p, size_t i, struct err *e)
{
	const struct host_pattern *open = &p->inspect.v[i];
	char text[HOST_PATTERN_TEXT_MAX], other[HOST_PATTERN_TEXT_MAX];

	for (size_t k = 0; k < p->splice.n; k++) {
		const struct host_pattern *closed = &p->splice.v[k];

		if (closed->port == open->port &&
		    holds(closed->name, closed->below, open->name, open->below))
			return err_set(e,
				       "`%s` is to be opened, and kept closed by `%s` of `splice`; "
				       "leave one out",
				       host_pattern_format(open, text),
				       host_pattern_format(closed, other));
	}
	return 0;
}

/* ---- What has to be seen, and is to stay closed ---- */

static int check_splice_rules(const struct host_pattern *closed, const struct rule *rules, size_t n,
			      const char *whose, struct err *e)
{
	char text[HOST_PATTERN_TEXT_MAX], rule[RULE_TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		if (rule_is_about_requests(&rules[i]) && pattern_meets_rule(closed, &rules[i]) &&
		    rule_covers_port(&rules[i], PROTO_TCP, closed->port))
			return err_set(e,
				       "`%s` cannot stay closed: %s `%s` is about methods or "
				       "paths, which could not be held; leave it out of `splice`",
				       host_pattern_format(closed, text), whose,
				       rule_format(&rules[i], rule));
	return 0;
}

static int check_splice_credentials(const struct host_pattern *closed,
				    const struct credential_list *list, struct err *e)
{
	char text[HOST_PATTERN_TEXT_MAX], credential[CREDENTIAL_TEXT_MAX];

	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].port == closed->port &&
		    holds(closed->name, closed->below, list->v[i].host, false))
			return err_set(e,
				       "`%s` cannot stay closed: the credential %s could not be "
				       "added; leave it out of `splice`",
				       host_pattern_format(closed, text),
				       credential_describe(&list->v[i], credential));
	return 0;
}

static int check_splice(const struct policy *p, size_t i, struct err *e)
{
	const struct rule_list *organisation = &p->resolved.organisation;
	const struct host_pattern *closed = &p->splice.v[i];

	if (check_splice_credentials(closed, policy_credentials(p), e) ||
	    check_splice_rules(closed, p->rules, p->n_rules, "the rule", e) ||
	    check_splice_rules(closed, organisation->v, organisation->n, "the organisation's rule",
			       e))
		return -1;
	return 0;
}

/* ---- Requests on other ports ---- */

static bool is_seen(const struct policy *p, const struct rule *r, uint16_t port)
{
	const struct credential_list *list = policy_credentials(p);

	if (port == HTTP_PORT || port == HTTPS_PORT)
		return true;
	for (size_t i = 0; i < p->inspect.n; i++)
		if (p->inspect.v[i].port == port && pattern_holds_rule(&p->inspect.v[i], r))
			return true;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].port == port && r->kind == TARGET_NAME &&
		    strcmp(list->v[i].host, rule_name(r)) == 0)
			return true;
	return false;
}

static int check_rule(const struct policy *p, const struct rule *r, struct err *e)
{
	const struct port_range *ports;
	char text[RULE_TEXT_MAX];
	size_t n;

	if (!rule_is_about_requests(r))
		return 0;
	ports = rule_ports(r, &n);
	for (size_t i = 0; i < n; i++)
		if (!is_seen(p, r, ports[i].lo))
			return err_set(e,
				       "`%s`: `%s` on port %u need the requests to be seen; write "
				       "`inspect: [\"%s%s:%u\"]` too when it is HTTP over TLS, or "
				       "restrict to `ports: [80, 443]`",
				       rule_format(r, text),
				       r->detail->methods ? "methods" : "paths", ports[i].lo,
				       r->kind == TARGET_WILDCARD ? "*." : "", rule_name(r),
				       ports[i].lo);
	return 0;
}

int host_conflict_find(const struct policy *p, struct host_conflict *at, struct err *e)
{
	at->list = CONFLICT_IN_INSPECT;
	for (at->index = 0; at->index < p->inspect.n; at->index++)
		if (check_inspect(p, at->index, e))
			return -1;
	at->list = CONFLICT_IN_SPLICE;
	for (at->index = 0; at->index < p->splice.n; at->index++)
		if (check_splice(p, at->index, e))
			return -1;
	at->list = CONFLICT_IN_RULES;
	for (at->index = 0; at->index < p->n_rules; at->index++)
		if (check_rule(p, &p->rules[at->index], e))
			return -1;
	return 0;
}
