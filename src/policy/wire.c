/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/wire.h"

#include "policy/print.h"
#include "policy/rule_entry.h"

enum { WIRE_HOST_PORTS_MAX = 256 };

/* ---- Printing ---- */

/* The rules of a permission follow one another: they were made permission by permission. */
static size_t end_of_permission(const struct rule_list *list, size_t first)
{
	const char *id = list->v[first].detail->permission;
	size_t end = first + 1;

	while (end < list->n && strcmp(list->v[end].detail->permission, id) == 0)
		end++;
	return end;
}

static json_t *permissions_json(const struct rule_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0, end; array && i < list->n; i = end) {
		json_t *rules;

		end = end_of_permission(list, i);
		rules = rules_print_json(&list->v[i], end - i, EFFECT_ALLOW);
		if (json_array_append_new(array, json_pack("{s:s, s:o}", "id",
							   list->v[i].detail->permission, "rules",
							   rules)) != 0) {
			json_decref(array);
			array = NULL;
		}
	}
	return array;
}

static bool put_organisation(json_t *object, const struct rule_list *list)
{
	json_t *rules = json_object();
	bool ok = json_put_unless_empty(rules, "allow",
					rules_print_json(list->v, list->n, EFFECT_ALLOW)) &&
		  json_put_unless_empty(rules, "deny",
					rules_print_json(list->v, list->n, EFFECT_DENY));

	if (ok && list->n)
		return json_object_set_new(object, "organisation", rules) == 0;
	json_decref(rules);
	return ok;
}

json_t *wire_print_resolved(const struct resolved *r)
{
	json_t *object = json_object();
	bool ok = (!r->on || json_put_unless_empty(object, "on", strings_print_json(r->on))) &&
		  json_put_unless_empty(object, "permissions", permissions_json(&r->permissions)) &&
		  put_organisation(object, &r->organisation) &&
		  (!r->web || json_object_set_new(object, "web", json_true()) == 0) &&
		  json_put_unless_empty(object, "host_ports",
					ports_print_json(r->host_ports, r->n_host_ports));

	if (ok)
		return object;
	json_decref(object);
	return NULL;
}

/* ---- Reading ---- */

struct reading {
	const struct value_reader *v;
	struct resolved *out;
	const char *id; /* of the permission that is read */
	const struct node *rules;
};

static int read_on(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;
	const char *id;

	if (value_list(r->v, value, false))
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		if (value_string(r->v, &value->items[i], &id))
			return -1;
		if (string_list_add(&r->out->on, id))
			return node_error(r->v->d, value, r->v->e, "out of memory");
	}
	return 0;
}

static int read_id(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;

	return value_string(r->v, value, &r->id);
}

/* The id may come after the rules that it is for. */
static int note_rules(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;

	r->rules = value;
	return value_list(r->v, value, false);
}

static int read_rule(struct reading *r, const struct node *n, enum effect effect,
		     struct rule_list *list)
{
	struct rule rule;

	if (rule_entry_read(r->v, n, effect, &rule))
		return -1;
	if (r->id &&
	    (!rule_need_detail(&rule, r->v->e) || !(rule.detail->permission = strdup(r->id)))) {
		rule_clear(&rule);
		return node_error(r->v->d, n, r->v->e, "out of memory");
	}
	return rule_list_take(list, &rule, r->v->e) ? node_prefix(r->v->d, n, r->v->e) : 0;
}

static int read_rules(struct reading *r, const struct node *value, enum effect effect,
		      struct rule_list *list)
{
	if (value_list(r->v, value, false))
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (read_rule(r, &value->items[i], effect, list))
			return -1;
	return 0;
}

static int read_permission(struct reading *r, const struct node *n)
{
	static const struct value_key keys[] = {{"id", read_id}, {"rules", note_rules}};

	r->id = NULL;
	r->rules = NULL;
	if (value_map(r->v, n, keys, sg_array_len(keys), r))
		return -1;
	if (!r->id || !r->rules)
		return node_error(r->v->d, n, r->v->e, "a permission has `id` and `rules`");
	if (read_rules(r, r->rules, EFFECT_ALLOW, &r->out->permissions))
		return -1;
	r->id = NULL;
	return 0;
}

static int read_permissions(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;

	if (value_list(r->v, value, false))
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (read_permission(r, &value->items[i]))
			return -1;
	return 0;
}

static int read_allow(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;

	return read_rules(r, value, EFFECT_ALLOW, &r->out->organisation);
}

static int read_deny(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;

	return read_rules(r, value, EFFECT_DENY, &r->out->organisation);
}

static int read_organisation(void *context, const struct node *key, const struct node *value)
{
	static const struct value_key keys[] = {{"allow", read_allow}, {"deny", read_deny}};
	struct reading *r = context;

	return value_map(r->v, value, keys, sg_array_len(keys), r);
}

static int read_web(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;

	return value_bool(r->v, value, &r->out->web);
}

static int read_host_ports(void *context, const struct node *key, const struct node *value)
{
	struct reading *r = context;
	uint64_t port;

	if (value_list(r->v, value, false))
		return -1;
	if (value->n > WIRE_HOST_PORTS_MAX)
		return node_error(r->v->d, value, r->v->e, "more than %d ports",
				  WIRE_HOST_PORTS_MAX);
	r->out->host_ports = calloc(value->n, sizeof(*r->out->host_ports));
	if (!r->out->host_ports)
		return node_error(r->v->d, value, r->v->e, "out of memory");
	for (size_t i = 0; i < value->n; i++) {
		if (value_number(r->v, &value->items[i], 1, UINT16_MAX, &port))
			return -1;
		r->out->host_ports[r->out->n_host_ports++] = (uint16_t)port;
	}
	return 0;
}

int wire_read_resolved(const struct value_reader *v, const struct node *value, struct resolved *out)
{
	static const struct value_key keys[] = {
		{"on", read_on},
		{"permissions", read_permissions},
		{"organisation", read_organisation},
		{"web", read_web},
		{"host_ports", read_host_ports},
	};
	struct reading r = {.v = v, .out = out};

	out->done = true;
	return value_map(v, value, keys, sg_array_len(keys), &r);
}
