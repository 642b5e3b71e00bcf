/* SPDX-License-Identifier: Apache-2.0 */
/* organisation: the policy of an organisation, whose signature was verified before. */
#include "policy/permission.h"
#include "policy/rule_entry.h"

struct reading {
	struct value_reader v;
	const struct catalogue *c;
	struct organisation *o;
};

static int read_network(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;
	struct policy words;
	const char *word;

	policy_init(&words);
	if (value_string(&r->v, value, &word))
		return -1;
	if (policy_set_network(&words, word, r->v.e))
		return node_prefix(r->v.d, value, r->v.e);
	r->o->default_network = words.network;
	r->o->has_default_network = true;
	return 0;
}

/* Only a person's `inspect` opens other ports, and not everybody has it. */
static int check_ports(const struct rule *rule, struct err *e)
{
	size_t n;
	const struct port_range *ports = rule_ports(rule, &n);

	if (!rule_is_about_requests(rule))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (ports[i].lo != 80 && ports[i].lo != 443)
			return err_set(e,
				       "`%s` on port %u cannot be held for everybody; restrict to "
				       "`ports: [80, 443]`",
				       rule->detail->methods ? "methods" : "paths", ports[i].lo);
	return 0;
}

static int read_rules(struct reading *r, const struct node *value, enum effect effect)
{
	struct rule rule;

	if (value_list(&r->v, value, true))
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		if (rule_entry_read(&r->v, &value->items[i], effect, &rule))
			return -1;
		if (rule_list_take(&r->o->rules, &rule, r->v.e) ||
		    check_ports(&r->o->rules.v[r->o->rules.n - 1], r->v.e))
			return node_prefix(r->v.d, &value->items[i], r->v.e);
	}
	return 0;
}

static int read_allow(void *context, const struct node *key, const struct node *value)
{
	return read_rules(context, value, EFFECT_ALLOW);
}

static int read_deny(void *context, const struct node *key, const struct node *value)
{
	return read_rules(context, value, EFFECT_DENY);
}

static int read_locked(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;

	return value_bool(&r->v, value, &r->o->locked);
}

static int read_removed(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;
	const char *id;

	if (value_list(&r->v, value, true))
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		const struct node *n = &value->items[i];

		if (value_string(&r->v, n, &id))
			return -1;
		if (!catalogue_permission(r->c, id)) {
			catalogue_refuse_unknown(r->c, id, r->v.e);
			return node_prefix(r->v.d, n, r->v.e);
		}
		if (!string_list_has(r->o->permissions_removed, id) &&
		    string_list_add(&r->o->permissions_removed, id))
			return node_error(r->v.d, n, r->v.e, "out of memory");
	}
	return 0;
}

int organisation_parse(struct span text, const char *file, const struct catalogue *c,
		       struct organisation *o, struct err *e)
{
	static const struct value_key keys[] = {
		{"default_network", read_network},
		{"allow", read_allow},
		{"deny", read_deny},
		{"locked", read_locked},
		{"permissions_removed", read_removed},
	};
	struct document d;
	struct reading r = {.v = {.d = &d, .e = e}, .c = c, .o = o};
	int rc;

	*o = (struct organisation){.present = true};
	if (document_parse(text, POLICY_JSON, file, &d, e)) {
		*o = (struct organisation){0};
		return -1;
	}
	rc = value_map(&r.v, &d.root, keys, sg_array_len(keys), &r);
	document_free(&d);
	if (rc)
		organisation_free(o);
	return rc;
}

void organisation_free(struct organisation *o)
{
	rule_list_free(&o->rules);
	string_list_free(o->permissions_removed);
	*o = (struct organisation){0};
}
