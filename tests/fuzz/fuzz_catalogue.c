/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text taken as an administrator's catalogue: what is read is in order, every rule of it is one
 * a person could write, every id that it refers to is there, and every preset resolves; an error
 * has a place, or says that there was no memory.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "policy/decide.h"
#include "policy/permission.h"

static void check_ids(const struct catalogue *c, const char *const *ids)
{
	for (; ids && *ids; ids++)
		if (!catalogue_permission(c, *ids) && strcmp(*ids, "languages") != 0)
			abort();
}

static void check_permission(const struct catalogue *c, const struct permission *p)
{
	struct policy policy;
	struct err e;

	policy_init(&policy);
	for (const char *const *rule = p->rules; *rule; rule++)
		if (policy_add_rule(&policy, EFFECT_ALLOW, *rule, &e))
			abort();
	policy_free(&policy);
	check_ids(c, p->includes);
	for (size_t i = 0; i < p->n_operations; i++)
		if (!p->operations[i].says)
			abort();
	if (!p->says || !p->attempt || p->asks != (p->warning != NULL))
		abort();
}

static void check_preset(const struct catalogue *c, const struct preset *preset)
{
	static char *no_languages[] = {NULL};
	const struct policy_sources s = {.catalogue = c, .languages = no_languages};
	struct policy policy;
	struct err e;

	check_ids(c, preset->permissions);
	policy_init(&policy);
	if (policy_set_network(&policy, preset->name, &e) || policy_resolve(&policy, &s, &e))
		abort();
	policy_free(&policy);
}

static void check_covering(const struct catalogue *c)
{
	struct name name;
	struct destination d = {
		.kind = DEST_CONNECT, .name = &name, .port = 443, .proto = PROTO_TCP};
	const struct permission *p;

	if (name_parse("www.corp.example", 16, &name, NULL) != NAME_OK)
		abort();
	p = catalogue_covering(c, &d, NULL);
	if (p && (p->asks || p->personal || permission_writes(p)))
		abort();
}

static void check(const struct catalogue *c)
{
	for (size_t i = 0; i < c->n_permissions; i++) {
		check_permission(c, &c->permissions[i]);
		if (i && strcmp(c->permissions[i - 1].id, c->permissions[i].id) >= 0)
			abort();
	}
	for (size_t i = 0; i < c->n_presets; i++)
		check_preset(c, &c->presets[i]);
	for (size_t i = 0; i < c->n_agents; i++)
		check_ids(c, c->agents[i].model);
	check_covering(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned line, column;
	struct catalogue *c;
	struct err e;

	c = catalogue_read(catalogue_builtin(), span_of(data, size), "f", &e);
	if (c)
		check(c);
	else if (sscanf(e.text, "f:%u:%u: ", &line, &column) != 2 || !line || !column)
		abort();
	catalogue_free(c);
	return 0;
}
