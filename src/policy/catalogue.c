/* SPDX-License-Identifier: Apache-2.0 */
/* catalogue: finding permissions, presets, agents and languages by their names. */
#include "policy/catalogue.h"

#include <stdlib.h>

#include "base/nearest.h"
#include "policy/permission.h"
#include "policy/quote.h"

const struct catalogue *catalogue_builtin(void)
{
	return &catalogue_compiled_in;
}

static int compare_id(const void *key, const void *element)
{
	return strcmp(key, ((const struct permission *)element)->id);
}

const struct permission *catalogue_permission(const struct catalogue *c, const char *id)
{
	return bsearch(id, c->permissions, c->n_permissions, sizeof(*c->permissions), compare_id);
}

const struct preset *catalogue_preset(const struct catalogue *c, const char *name)
{
	for (size_t i = 0; i < c->n_presets; i++)
		if (strcmp(c->presets[i].name, name) == 0)
			return &c->presets[i];
	return NULL;
}

const struct agent *catalogue_agent(const struct catalogue *c, const char *name)
{
	for (size_t i = 0; i < c->n_agents; i++)
		if (strcmp(c->agents[i].name, name) == 0)
			return &c->agents[i];
	return NULL;
}

static bool is_among(const char *word, const char *const *list)
{
	for (; list && *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

const struct agent *catalogue_agent_of_command(const struct catalogue *c, const char *command)
{
	const char *slash = strrchr(command, '/'), *base = slash ? slash + 1 : command;

	for (size_t i = 0; i < c->n_agents; i++)
		if (is_among(base, c->agents[i].commands))
			return &c->agents[i];
	return NULL;
}

/* "*.csproj" is every name that ends so, with something before it. */
static bool file_fits(const char *pattern, const char *file)
{
	size_t tail = strlen(pattern) - 1, n = strlen(file);

	if (pattern[0] != '*')
		return strcmp(pattern, file) == 0;
	return n > tail && strcmp(file + n - tail, pattern + 1) == 0;
}

const struct language *catalogue_language_of_file(const struct catalogue *c, const char *file)
{
	for (size_t i = 0; i < c->n_languages; i++)
		for (const char *const *f = c->languages[i].files; *f; f++)
			if (file_fits(*f, file))
				return &c->languages[i];
	return NULL;
}

const char *catalogue_nearest(const struct catalogue *c, const char *word)
{
	struct nearest near = nearest_to(word);

	for (size_t i = 0; i < c->n_permissions; i++)
		nearest_offer(&near, c->permissions[i].id);
	for (unsigned i = 0; i < NET_BASES; i++)
		nearest_offer(&near, network_base_name((enum network_base)i));
	return near.word;
}

int catalogue_refuse_unknown(const struct catalogue *c, const char *id, struct err *e)
{
	const char *near = catalogue_nearest(c, id);
	char shown[QUOTE_MAX];

	quote_string(id, shown);
	if (near)
		return err_set(e, "permission %s is not known; did you mean `%s`?", shown, near);
	return err_set(e,
		       "permission %s is not known; `sandgate net permissions` lists those there "
		       "are",
		       shown);
}

bool permission_writes(const struct permission *p)
{
	for (size_t i = 0; i < p->n_operations; i++)
		if (p->operations[i].write)
			return true;
	return false;
}

/* What is read includes nothing in a ring. */
bool catalogue_includes(const struct catalogue *c, const char *from, const char *id)
{
	const struct permission *p = catalogue_permission(c, from);

	if (strcmp(from, id) == 0)
		return true;
	for (const char *const *in = p ? p->includes : NULL; in && *in; in++)
		if (catalogue_includes(c, *in, id))
			return true;
	return false;
}

bool catalogue_is_language(const struct catalogue *c, const char *id)
{
	for (size_t i = 0; i < c->n_languages; i++)
		if (strcmp(c->languages[i].permission, id) == 0)
			return true;
	return false;
}

bool catalogue_preset_has(const struct catalogue *c, const struct preset *p, const char *id)
{
	for (const char *const *in = p->permissions; in && *in; in++)
		if (strcmp(*in, "languages") == 0 ? catalogue_is_language(c, id)
						  : catalogue_includes(c, *in, id))
			return true;
	return false;
}
