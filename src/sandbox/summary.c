/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/refused.h"
#include "sandbox/rerun.h"

enum { NAMED_MAX = 16, ROWS_MAX = 20 };

/* --- what the policy allows --- */

/* "a.example, b.example and 3 more" */
struct listing {
	FILE *to;
	size_t n;
};

static bool names_next(struct listing *l)
{
	if (l->n++ >= NAMED_MAX)
		return false;
	if (l->n > 1)
		fputs(", ", l->to);
	return true;
}

static void list_word(struct listing *l, const char *word)
{
	if (names_next(l))
		fputs(word, l->to);
}

static void list_rules(struct listing *l, const struct rule *rules, size_t n, enum effect effect)
{
	char text[RULE_TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		if (rules[i].effect == effect)
			list_word(l, rule_format(&rules[i], text));
}

static void list_host_ports(struct listing *l, const uint16_t *ports, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (names_next(l))
			fprintf(l->to, "host.sandgate.internal:%u", (unsigned)ports[i]);
}

static void end_list(const struct listing *l)
{
	if (l->n > NAMED_MAX)
		fprintf(l->to, " and %zu more", l->n - NAMED_MAX);
}

static void list_own(struct listing *l, const struct policy *p)
{
	list_rules(l, p->rules, p->n_rules, EFFECT_ALLOW);
	list_rules(l, p->resolved.organisation.v, p->resolved.organisation.n, EFFECT_ALLOW);
	list_host_ports(l, p->host_ports, p->n_host_ports);
}

static bool has_rule(const struct rule *rules, size_t n, enum effect effect)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].effect == effect)
			return true;
	return false;
}

static bool allows_own(const struct policy *p)
{
	return has_rule(p->rules, p->n_rules, EFFECT_ALLOW) || p->n_host_ports > 0 ||
	       has_rule(p->resolved.organisation.v, p->resolved.organisation.n, EFFECT_ALLOW);
}

/* --- permissions --- */

static bool has_word(const char *const *list, const char *word)
{
	for (; list && *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

/* Whether the agent that runs reaches its model by this permission. */
static bool is_own_model(const struct policy_sources *s, const char *id)
{
	return s->agent && has_word(s->agent->model, id);
}

/* A permission that another one includes is said by that one. */
static bool is_included(const struct policy *p, const struct policy_sources *s, const char *id)
{
	for (char *const *on = p->resolved.on; on && *on; on++) {
		const struct permission *other = catalogue_permission(s->catalogue, *on);

		if (other && has_word(other->includes, id))
			return true;
	}
	return false;
}

/*
 * `update` without an agent that is known opens nothing; nor does `model`, which is said by agent.
 */
static bool opens_something(const struct policy *p, const struct policy_sources *s, const char *id)
{
	const struct permission *of = catalogue_permission(s->catalogue, id);

	for (size_t i = 0; i < p->resolved.permissions.n; i++)
		if (strcmp(p->resolved.permissions.v[i].detail->permission, id) == 0)
			return true;
	return of && strcmp(id, "model") != 0 && (of->includes || of->host_port || of->web);
}

static void list_model(struct listing *l, const struct policy *p, const struct policy_sources *s)
{
	static const char prefix[] = "model:";
	size_t n = 0;

	for (char *const *id = p->resolved.on; id && *id; id++) {
		if (!is_own_model(s, *id))
			continue;
		if (n == 0 && !names_next(l))
			return;
		fputs(n++ ? ", " : "the agent's model (", l->to);
		fputs(strncmp(*id, prefix, sizeof(prefix) - 1) == 0 ? *id + sizeof(prefix) - 1
								    : *id,
		      l->to);
	}
	fputs(n ? ")" : "", l->to);
}

/* The model first and the agent's own affairs next, then the order of the catalogue. */
static void list_permissions(struct listing *l, const struct policy *p,
			     const struct policy_sources *s)
{
	static const char update[] = "update";

	list_model(l, p, s);
	if (has_word((const char *const *)p->resolved.on, update) && opens_something(p, s, update))
		list_word(l, update);
	for (char *const *id = p->resolved.on; id && *id; id++)
		if (strcmp(*id, update) != 0 && !is_own_model(s, *id) && !is_included(p, s, *id) &&
		    opens_something(p, s, *id))
			list_word(l, *id);
}

static bool permits_something(const struct policy *p)
{
	return p->resolved.permissions.n || p->resolved.n_host_ports;
}

/* --- the lines --- */

static void put_first_line(FILE *to, const struct policy *p, const struct policy_sources *s)
{
	struct listing l = {.to = to};
	bool open = p->network == NET_OPEN, own = allows_own(p);

	if (p->network == NET_ANY) {
		fputs("network UNRESTRICTED, connections are logged", to);
	} else if (open || (p->network != NET_NONE && p->resolved.web)) {
		fputs(open ? "network open to every public address"
			   : "network open to every website",
		      to);
		fputs(own ? " and " : "", to);
		list_own(&l, p);
		end_list(&l);
		fputs(", connections are logged", to);
	} else if (p->network == NET_NONE || !(own || permits_something(p))) {
		fputs("network denied", to);
	} else {
		fputs(permits_something(p) ? "network closed except: " : "network limited to ", to);
		list_permissions(&l, p, s);
		list_own(&l, p);
		end_list(&l);
		fputs(p->network == NET_BROKERED ? ", through the proxy port" : "", to);
	}
}

static void list_words(struct listing *l, const struct policy *p, enum effect effect)
{
	list_rules(l, p->rules, p->n_rules, effect);
	for (char *const *word = p->permissions; word && *word; word++)
		if ((**word == '-') == (effect == EFFECT_DENY))
			list_word(l, **word == '-' ? *word + 1 : *word);
	if (effect == EFFECT_ALLOW)
		list_host_ports(l, p->host_ports, p->n_host_ports);
}

/* "allow: a.example, github; deny: c.example (standard)", or the base alone. */
static void put_policy(FILE *to, const struct policy *p)
{
	static const char *const headings[] = {
		[EFFECT_ALLOW] = "allow: ", [EFFECT_DENY] = "deny: "};
	size_t said = 0;

	for (int effect = EFFECT_ALLOW; effect >= EFFECT_DENY; effect--) {
		struct listing count = {.n = NAMED_MAX}, l = {.to = to};

		list_words(&count, p, (enum effect)effect);
		if (count.n == NAMED_MAX)
			continue;
		fprintf(to, "%s%s", said++ ? "; " : "", headings[effect]);
		list_words(&l, p, (enum effect)effect);
		end_list(&l);
	}
	fprintf(to, said ? " (%s)" : "%s", network_base_name(p->network));
}

static char *end_text(FILE *to, char **text)
{
	if (fclose(to) == 0)
		return *text;
	free(*text);
	return NULL;
}

char *summary_first_line(const struct policy *p, const struct policy_sources *sources)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (!to)
		return NULL;
	put_first_line(to, p, sources);
	return end_text(to, &text);
}

char *summary_policy(const struct policy *p)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (!to)
		return NULL;
	put_policy(to, p);
	return end_text(to, &text);
}

/* --- the closing --- */

static const char *times(uint64_t n)
{
	return n == 1 ? "time" : "times";
}

static void put_refusals(FILE *to, const struct summary_end *end)
{
	const struct suggestions *s = end->refused;
	uint64_t total = s->total + end->others, shown = 0;

	fprintf(to, "sandgate: refused %" PRIu64 " %s:\n", total, times(total));
	for (size_t i = 0; i < s->n && i < ROWS_MAX; i++) {
		refused_put(to, &s->v[i]);
		shown += s->v[i].count;
	}
	if (total > shown)
		fprintf(to, "  others (%" PRIu64 " %s)\n", total - shown, times(total - shown));
	if (end->lasting)
		rerun_put_change(to, s, end->lasting);
	else
		rerun_put(to, s, end->o);
}

/* A lookup that nobody answered is no refusal: nothing in the policy would change it. */
static void put_failed_lookups(FILE *to, json_int_t n)
{
	if (n > 0)
		fprintf(to,
			"sandgate: the host's resolver did not answer %" JSON_INTEGER_FORMAT
			" lookup%s; see /etc/resolv.conf of the host\n",
			n, n == 1 ? "" : "s");
}

char *summary_closing(const struct summary_end *end)
{
	const json_t *dns = json_object_get(end->status, "dns");
	json_int_t failed = json_integer_value(json_object_get(dns, "failed"));
	bool refused = end->refused->total || end->others;
	char *text = NULL;
	size_t n = 0;
	FILE *to = refused || failed > 0 ? open_memstream(&text, &n) : NULL;

	if (!to)
		return NULL;
	if (refused)
		put_refusals(to, end);
	put_failed_lookups(to, failed);
	return end_text(to, &text);
}
