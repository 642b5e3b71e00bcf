/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/permission_model.h"

#include <stdio.h>
#include <string.h>

#include "policy/strings.h"

bool permission_is_removed(const struct permission_view *v, const struct permission *p)
{
	for (char *const *id = v->removed; id && *id; id++)
		if (catalogue_includes(v->catalogue, *id, p->id) ||
		    catalogue_includes(v->catalogue, p->id, *id))
			return true;
	return false;
}

bool permission_is_on(const struct permission_view *v, const struct permission *p)
{
	const struct preset *standard = catalogue_preset(v->catalogue, "standard");

	if (!standard || !catalogue_preset_has(v->catalogue, standard, p->id) ||
	    permission_is_removed(v, p))
		return false;
	return !catalogue_is_language(v->catalogue, p->id) || string_list_has(v->languages, p->id);
}

/* ---- Hosts ---- */

static void add_once(json_t *list, const char *text)
{
	const json_t *had;
	size_t i;

	json_array_foreach(list, i, had) if (strcmp(json_string_value(had), text) == 0) return;
	json_array_append_new(list, json_string(text));
}

static void add_rules(json_t *list, const char *const *rules)
{
	for (; rules && *rules; rules++)
		add_once(list, *rules);
}

/* Those of the permission and of what it includes. */
static void add_hosts(json_t *list, const struct catalogue *c, const struct permission *p)
{
	char port[64];

	add_rules(list, p->rules);
	if (p->host_port) {
		snprintf(port, sizeof(port), "host.sandgate.internal:%u", p->host_port);
		add_once(list, port);
	}
	if (p->web)
		add_once(list, "*:80,443");
	for (const char *const *id = p->includes; id && *id; id++)
		add_hosts(list, c, catalogue_permission(c, *id));
}

json_t *permission_hosts(const struct catalogue *c, const struct permission *p)
{
	json_t *hosts = json_array();

	add_hosts(hosts, c, p);
	return hosts;
}

static void add_models(json_t *list, const struct catalogue *c, const struct agent *a)
{
	for (const char *const *id = a->model; *id; id++)
		add_hosts(list, c, catalogue_permission(c, *id));
}

static void add_hosts_of_agents(json_t *list, const struct catalogue *c, const struct permission *p)
{
	for (size_t i = 0; i < c->n_agents; i++) {
		const struct agent *a = &c->agents[i];

		if (strcmp(p->id, "model") == 0)
			add_models(list, c, a);
		else if (strcmp(p->id, "update") == 0)
			add_rules(list, a->update);
		else if (strcmp(p->id, "sign-in") == 0)
			add_rules(list, a->sign_in);
	}
}

/* ---- Operations ---- */

static json_t *strings_or_null(const char *const *strings)
{
	json_t *list;

	if (!strings)
		return json_null();
	list = json_array();
	for (; *strings; strings++)
		json_array_append_new(list, json_string(*strings));
	return list;
}

static json_t *string_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *operation_model(const struct operation *o)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "says", o->says, "host",
			 string_or_null(o->host), "methods", strings_or_null(o->methods), "paths",
			 strings_or_null(o->paths), "check", string_or_null(o->check), "write",
			 o->write);
}

static void add_operations(json_t *list, const struct catalogue *c, const struct permission *p)
{
	for (size_t i = 0; i < p->n_operations; i++) {
		json_t *made = operation_model(&p->operations[i]);
		bool there = false;
		const json_t *had;
		size_t k;

		json_array_foreach(list, k, had) there |= json_equal(had, made);
		if (there)
			json_decref(made);
		else
			json_array_append_new(list, made);
	}
	for (const char *const *id = p->includes; id && *id; id++)
		add_operations(list, c, catalogue_permission(c, *id));
}

json_t *permission_model(const struct permission_view *v, const struct permission *p)
{
	json_t *hosts = permission_hosts(v->catalogue, p), *operations = json_array();

	add_hosts_of_agents(hosts, v->catalogue, p);
	add_operations(operations, v->catalogue, p);
	return json_pack("{s:s, s:s, s:o, s:o, s:b}", "id", p->id, "says", p->says, "hosts", hosts,
			 "operations", operations, "on", permission_is_on(v, p));
}
