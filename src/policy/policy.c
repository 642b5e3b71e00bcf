/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/change.h"

#include <errno.h>
#include <stdio.h>

#include "base/nearest.h"
#include "policy/host_conflict.h"
#include "policy/host_list.h"
#include "policy/quote.h"
#include "policy/rule.h"

/* When a base is there at all: the word, and what is missing when it is not. */
static const struct {
	const char *word;
	const char *missing; /* NULL: available */
} bases[] = {
	[NET_ANY] = {"any", NULL},
	[NET_DENY] = {"deny", NULL},
	[NET_NONE] = {"none", NULL},
	[NET_BROKERED] = {"brokered", NULL},
	[NET_FAKENET] = {"fakenet", "the simulated internet"},
	[NET_LOCKED] = {"locked", NULL},
	[NET_STANDARD] = {"standard", NULL},
	[NET_OPEN] = {"open", NULL},
	[NET_BAKE] = {"bake", NULL},
};
_Static_assert(sg_array_len(bases) == NET_BASES, "every base has a word");

void policy_init(struct policy *p)
{
	*p = (struct policy){
		.format = POLICY_FORMAT_VERSION,
		.network = NET_STANDARD,
		.limits =
			{
				.flows = 4096,
				.flows_per_second = 500,
				.flows_burst = 2000,
				.wildcard_names_per_minute = 64,
				.wildcard_name_length = 200,
				.wildcard_label_length = 63,
			},
	};
}

void resolved_free(struct resolved *r)
{
	string_list_free(r->on);
	rule_list_free(&r->permissions);
	rule_list_free(&r->organisation);
	free(r->host_ports);
	credential_list_free(&r->credentials);
	*r = (struct resolved){0};
}

void policy_free(struct policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		rule_clear(&p->rules[i]);
	free(p->rules);
	string_list_free(p->permissions);
	resolved_free(&p->resolved);
	free(p->host_ports);
	free(p->publish);
	credential_list_free(&p->credentials);
	host_list_free(&p->inspect);
	host_list_free(&p->splice);
	policy_init(p);
}

const char *network_base_name(enum network_base b)
{
	return (unsigned)b < NET_BASES ? bases[b].word : "unknown";
}

static int refuse_base(const char *word, struct err *e)
{
	struct nearest near = nearest_to(word);
	char shown[QUOTE_MAX];

	for (size_t i = 0; i < NET_BASES; i++)
		nearest_offer(&near, bases[i].word);
	quote_string(word, shown);
	if (near.word)
		return err_set(e, "%s is not a network; did you mean `%s`?", shown, near.word);
	return err_set(
		e,
		"%s is not a network; write `any`, `deny`, `none`, `brokered`, or one of the "
		"presets `locked`, `standard`, `open`, `bake`",
		shown);
}

int policy_set_network(struct policy *p, const char *base, struct err *e)
{
	for (size_t i = 0; i < NET_BASES; i++) {
		if (strcmp(base, bases[i].word) != 0)
			continue;
		if (bases[i].missing)
			return err_set(e,
				       "network `%s` needs %s, which is not in this version; "
				       "use `deny` and list what is needed",
				       base, bases[i].missing);
		p->network = (enum network_base)i;
		return 0;
	}
	return refuse_base(base, e);
}

int policy_add_permission(struct policy *p, const char *word, struct err *e)
{
	const char *id = word[0] == '-' ? word + 1 : word;
	_cleanup_free_ char *off = NULL;

	if (asprintf(&off, "-%s", id) < 0) {
		off = NULL;
		return err_set(e, "out of memory");
	}
	string_list_remove(&p->permissions, id);
	string_list_remove(&p->permissions, off);
	return string_list_add(&p->permissions, word) ? err_set(e, "out of memory") : 0;
}

int policy_add_rule(struct policy *p, enum effect effect, const char *text, struct err *e)
{
	struct rule r;

	if (rule_parse_short(span_of_string(text), effect, &r, e))
		return -1;
	return policy_take_rule(p, &r, e);
}

/* ---- Copies ---- */

static bool copy_array(void *out, const void *from, size_t n, size_t size)
{
	void *copy = n ? malloc(n * size) : NULL;

	if (copy)
		memcpy(copy, from, n * size);
	memcpy(out, &copy, sizeof(copy));
	return copy || !n;
}

static bool copy_strings(char ***out, char *const *from)
{
	*out = from ? string_list_copy(from) : NULL;
	return !*out == !from;
}

/* All pointers of `to` are set, whether it succeeds or not, so that it may be freed. */
int policy_copy_settings(const struct policy *from, struct policy *to)
{
	bool ok;

	*to = *from;
	to->rules = NULL;
	to->n_rules = to->cap_rules = 0;
	to->resolved.permissions = to->resolved.organisation = (struct rule_list){0};
	ok = copy_strings(&to->permissions, from->permissions);
	ok = copy_strings(&to->resolved.on, from->resolved.on) && ok;
	ok = copy_array(&to->host_ports, from->host_ports, from->n_host_ports,
			sizeof(*from->host_ports)) &&
	     ok;
	ok = copy_array(&to->publish, from->publish, from->n_publish, sizeof(*from->publish)) && ok;
	ok = copy_array(&to->resolved.host_ports, from->resolved.host_ports,
			from->resolved.n_host_ports, sizeof(*from->resolved.host_ports)) &&
	     ok;
	ok = credential_list_copy(&from->credentials, &to->credentials) == 0 && ok;
	ok = host_list_copy(&from->inspect, &to->inspect) == 0 && ok;
	ok = host_list_copy(&from->splice, &to->splice) == 0 && ok;
	ok = credential_list_copy(&from->resolved.credentials, &to->resolved.credentials) == 0 &&
	     ok;
	return ok ? 0 : -ENOMEM;
}

static bool copy_rules(const struct policy *from, struct policy *to)
{
	struct rule_list list;
	bool ok = rule_list_copy(from->rules, from->n_rules, &list) == 0;

	to->rules = list.v;
	to->n_rules = list.n;
	to->cap_rules = list.cap;
	return ok;
}

int policy_copy(const struct policy *from, struct policy *to, struct err *e)
{
	const struct resolved *r = &from->resolved;

	if (policy_copy_settings(from, to) == 0 && copy_rules(from, to) &&
	    rule_list_copy(r->permissions.v, r->permissions.n, &to->resolved.permissions) == 0 &&
	    rule_list_copy(r->organisation.v, r->organisation.n, &to->resolved.organisation) == 0)
		return 0;
	policy_free(to);
	return err_set(e, "out of memory");
}

/* ---- What no single entry shows ---- */

static const struct rule *first_allow(const struct policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].effect == EFFECT_ALLOW)
			return &p->rules[i];
	return NULL;
}

/* A base that leaves nothing to add; "network `any` allows everything, which contradicts". */
static const char *closed_base(const struct policy *p)
{
	return p->network == NET_ANY	? "network `any` allows everything"
	       : p->network == NET_NONE ? "network `none` has no link at all"
					: NULL;
}

static const char *first_permission(const struct policy *p)
{
	for (char **id = p->permissions; id && *id; id++)
		if (**id != '-')
			return *id;
	return NULL;
}

int policy_validate(const struct policy *p, struct err *e)
{
	const struct rule *allow = first_allow(p);
	const char *base = closed_base(p), *permission = first_permission(p);
	const char *instead = p->network == NET_ANY ? ", or `any` without one" : "";
	struct host_conflict unplaced;
	char text[RULE_TEXT_MAX];

	if (base && allow)
		return err_set(e,
			       "%s, which contradicts the allow rule `%s`; use `deny` with the "
			       "list%s",
			       base, rule_format(allow, text), instead);
	if (base && permission)
		return err_set(e,
			       "%s, which contradicts the permission `%s`; use `deny` with the "
			       "list%s",
			       base, permission, instead);
	if (p->network == NET_NONE && (p->n_host_ports || p->n_publish))
		return err_set(e, "%s, which contradicts `%s`; use `deny`", base,
			       p->n_host_ports ? "host_ports" : "publish");
	return host_conflict_find(p, &unplaced, e);
}
