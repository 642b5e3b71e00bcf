/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"

#include "base/nearest.h"
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
	[NET_BROKERED] = {"brokered", "the broker"},
	[NET_FAKENET] = {"fakenet", "the simulated internet"},
	[NET_LOCKED] = {"locked", "the permissions catalogue"},
	/* As the default it stands for "nothing was said" and decides as `deny`. */
	[NET_STANDARD] = {"standard", "the permissions catalogue"},
	[NET_OPEN] = {"open", NULL},
	[NET_BAKE] = {"bake", "the permissions catalogue"},
};
_Static_assert(sg_array_len(bases) == NET_BASES, "every base has a word");

void policy_init(struct policy *p)
{
	*p = (struct policy){
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

void policy_free(struct policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		rule_clear(&p->rules[i]);
	free(p->rules);
	string_list_free(p->permissions);
	free(p->host_ports);
	free(p->publish);
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
	return err_set(e, "%s is not a network; write `any`, `deny`, `none` or `open`", shown);
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

int policy_add_rule(struct policy *p, enum effect effect, const char *text, struct err *e)
{
	struct rule r;

	if (rule_parse_short(span_of_string(text), effect, &r, e))
		return -1;
	return policy_take_rule(p, &r, e);
}

static const struct rule *first_allow(const struct policy *p)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].effect == EFFECT_ALLOW)
			return &p->rules[i];
	return NULL;
}

int policy_validate(const struct policy *p, struct err *e)
{
	const struct rule *allow = first_allow(p);
	char text[RULE_TEXT_MAX];

	if (p->network == NET_ANY && allow)
		return err_set(e,
			       "network `any` allows everything, which contradicts the allow rule "
			       "`%s`; use `deny` with the list, or `any` without one",
			       rule_format(allow, text));
	if (p->network == NET_NONE && allow)
		return err_set(e,
			       "network `none` has no link at all, which contradicts the allow "
			       "rule `%s`; use `deny` with the list",
			       rule_format(allow, text));
	if (p->network == NET_NONE && (p->n_host_ports || p->n_publish))
		return err_set(e,
			       "network `none` has no link at all, which contradicts `%s`; "
			       "use `deny`",
			       p->n_host_ports ? "host_ports" : "publish");
	return 0;
}
