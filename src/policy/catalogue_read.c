/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalogue_read: an administrator's file on top of a catalogue.
 *
 * Theory of operation. The new catalogue begins as a shallow copy of the one below: its tables are
 * its own, what they point to is shared. An entry of the file takes the place of the one with its
 * name, or is added; at the end the tables are put in order and everything is checked as a whole.
 * All that is made on the way goes with the new catalogue (`struct catalogue_memory`), so that an
 * error has one thing to free.
 */
#include "policy/catalogue_read.h"

#include <stdio.h>
#include <stdlib.h>

#include "policy/quote.h"

/* ---- Memory ---- */

static void memory_free(struct catalogue_memory *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->block[i]);
	free(m->block);
	free(m);
}

void catalogue_free(struct catalogue *c)
{
	if (!c || !c->owned)
		return;
	memory_free(c->owned);
	free(c);
}

void *catalogue_keep(struct catalogue_reading *r, size_t n, size_t size)
{
	struct catalogue_memory *m = r->memory;
	void *p;

	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 64;
		void **block = reallocarray(m->block, cap, sizeof(*block));

		if (!block) {
			err_set(r->v.e, "out of memory");
			return NULL;
		}
		m->block = block;
		m->cap = cap;
	}
	p = calloc(n ? n : 1, size);
	if (p)
		m->block[m->n++] = p;
	else
		err_set(r->v.e, "out of memory");
	return p;
}

char *catalogue_keep_string(struct catalogue_reading *r, const char *s)
{
	char *copy = catalogue_keep(r, strlen(s) + 1, 1);

	return copy ? strcpy(copy, s) : NULL;
}

/* ---- Maps with names of the administrator's ---- */

int catalogue_read_names(const struct catalogue_reading *r, const struct node *map)
{
	const char *name;

	if (map->kind != NODE_MAP)
		return node_error(r->v.d, map, r->v.e, "a map of entries belongs here");
	if (map->n / 2 > CATALOGUE_ENTRIES_MAX)
		return node_error(r->v.d, map, r->v.e, "more than %d entries",
				  CATALOGUE_ENTRIES_MAX);
	for (size_t i = 0; i < map->n; i += 2) {
		if (value_string(&r->v, &map->items[i], &name))
			return -1;
		for (size_t k = 0; k < i; k += 2)
			if (strcmp(map->items[k].text, name) == 0)
				return node_error(r->v.d, &map->items[i], r->v.e,
						  "a second `%s`; the first is on line %u", name,
						  map->items[k].line);
	}
	return 0;
}

const char *const *catalogue_read_list(struct catalogue_reading *r, const struct node *list,
				       int (*check)(const char *, struct err *))
{
	const char **out;
	const char *text;

	if (value_list(&r->v, list, false))
		return NULL;
	if (list->n > CATALOGUE_ENTRIES_MAX) {
		node_error(r->v.d, list, r->v.e, "more than %d entries", CATALOGUE_ENTRIES_MAX);
		return NULL;
	}
	out = catalogue_keep(r, list->n + 1, sizeof(*out));
	for (size_t i = 0; out && i < list->n; i++) {
		if (value_string(&r->v, &list->items[i], &text))
			return NULL;
		if (check(text, r->v.e)) {
			node_prefix(r->v.d, &list->items[i], r->v.e);
			return NULL;
		}
		out[i] = catalogue_keep_string(r, text);
		if (!out[i])
			return NULL;
	}
	return out;
}

/* ---- The parts of a file ---- */

/* By which files a project shows the language; an entry without any takes away what was there. */
static void set_language(struct catalogue *c, const char *id, const char *const *files)
{
	struct language *table = (struct language *)c->languages;
	size_t at = 0;

	while (at < c->n_languages && strcmp(table[at].permission, id) != 0)
		at++;
	if (files) {
		table[at] = (struct language){.permission = id, .files = files};
		c->n_languages += at == c->n_languages;
	} else if (at < c->n_languages) {
		c->n_languages--;
		memmove(&table[at], &table[at + 1], (c->n_languages - at) * sizeof(*table));
	}
}

static int read_permissions(void *context, const struct node *key, const struct node *value)
{
	struct catalogue_reading *r = context;
	struct permission *table = (struct permission *)r->c->permissions, made;
	const char *const *files;

	if (catalogue_read_names(r, value))
		return -1;
	for (size_t i = 0; i < value->n; i += 2) {
		size_t at = 0;

		if (catalogue_read_permission(r, &value->items[i], &value->items[i + 1], &made,
					      &files))
			return -1;
		set_language(r->c, made.id, files);
		while (at < r->c->n_permissions && strcmp(table[at].id, made.id) != 0)
			at++;
		table[at] = made;
		r->c->n_permissions += at == r->c->n_permissions;
	}
	return 0;
}

static int read_agents(void *context, const struct node *key, const struct node *value)
{
	struct catalogue_reading *r = context;
	struct agent *table = (struct agent *)r->c->agents, made;

	if (catalogue_read_names(r, value))
		return -1;
	for (size_t i = 0; i < value->n; i += 2) {
		size_t at = 0;

		if (catalogue_read_agent(r, &value->items[i], &value->items[i + 1], &made))
			return -1;
		while (at < r->c->n_agents && strcmp(table[at].name, made.name) != 0)
			at++;
		table[at] = made;
		r->c->n_agents += at == r->c->n_agents;
	}
	return 0;
}

/* A base is one of a few words, so a preset of another name could not be chosen. */
static int read_presets(void *context, const struct node *key, const struct node *value)
{
	struct catalogue_reading *r = context;
	struct preset *table = (struct preset *)r->c->presets;
	char shown[QUOTE_MAX];

	if (catalogue_read_names(r, value))
		return -1;
	for (size_t i = 0; i < value->n; i += 2) {
		const struct node *name = &value->items[i];
		const struct preset *old = catalogue_preset(r->c, name->text);

		if (!old)
			return node_error(r->v.d, name, r->v.e,
					  "%s is none of the presets `locked`, `standard`, "
					  "`open`, `bake`; a set of your own is a permission with "
					  "`includes`",
					  quote_span(node_span(name), shown));
		if (catalogue_read_preset(r, name, &value->items[i + 1], &table[old - table]))
			return -1;
	}
	return 0;
}

static int read_operation_sets(void *context, const struct node *key, const struct node *value)
{
	struct catalogue_reading *r = context;
	struct operation_set *table = (struct operation_set *)r->c->operation_sets;

	if (catalogue_read_names(r, value))
		return -1;
	for (size_t i = 0; i < value->n; i += 2) {
		struct operation_set made = {NULL, NULL, 0};
		size_t at = 0;

		made.name = catalogue_keep_string(r, value->items[i].text);
		if (!made.name || catalogue_read_operations(r, &value->items[i + 1],
							    &made.operations, &made.n_operations))
			return -1;
		while (at < r->c->n_operation_sets && strcmp(table[at].name, made.name) != 0)
			at++;
		table[at] = made;
		r->c->n_operation_sets += at == r->c->n_operation_sets;
	}
	return 0;
}

static int refuse_version(void *context, const struct node *key, const struct node *value)
{
	const struct catalogue_reading *r = context;

	return node_error(r->v.d, key, r->v.e,
			  "the version is that of the catalogue below; leave it out");
}

/* Operations are named before the permissions that use them, wherever they stand in the file. */
static const struct value_key parts[] = {
	{"operations", read_operation_sets}, {"permissions", read_permissions},
	{"presets", read_presets},	     {"agents", read_agents},
	{"version", refuse_version},
};

static int skip(void *context, const struct node *key, const struct node *value)
{
	return 0;
}

/* One part at a time, in the order of `parts`. */
static int read_parts(struct catalogue_reading *r)
{
	struct value_key keys[sg_array_len(parts)];

	for (size_t turn = 0; turn < sg_array_len(parts); turn++) {
		for (size_t i = 0; i < sg_array_len(parts); i++) {
			keys[i] = parts[i];
			if (i != turn)
				keys[i].read = skip;
		}
		if (value_map(&r->v, &r->v.d->root, keys, sg_array_len(keys), r))
			return -1;
	}
	return 0;
}

/* ---- The new catalogue ---- */

/* More than the limit are refused when they are read. */
static size_t entries_of(const struct document *d, const char *part)
{
	const struct node *root = &d->root;

	for (size_t i = 0; root->kind == NODE_MAP && i < root->n; i += 2) {
		size_t n = root->items[i + 1].n / 2;

		if (root->items[i].kind == NODE_SCALAR && strcmp(root->items[i].text, part) == 0)
			return n < CATALOGUE_ENTRIES_MAX ? n : CATALOGUE_ENTRIES_MAX;
	}
	return 0;
}

/* A table of its own with the entries of the one below, and room for those of the file. */
static const void *copy_table(struct catalogue_reading *r, const void *from, size_t n, size_t size,
			      const char *part)
{
	void *to = catalogue_keep(r, n + entries_of(r->v.d, part), size);

	if (to && n)
		memcpy(to, from, n * size);
	return to;
}

static int begin(struct catalogue_reading *r, const struct catalogue *base)
{
	struct catalogue *c = r->c;
	char *version = catalogue_keep(r, strlen(base->version) + sizeof("+local"), 1);

	if (!version)
		return -1;
	strcpy(version, base->version);
	if (!strchr(version, '+'))
		strcat(version, "+local");
	c->version = version;
	c->permissions = copy_table(r, c->permissions, c->n_permissions, sizeof(*c->permissions),
				    "permissions");
	c->operation_sets = copy_table(r, c->operation_sets, c->n_operation_sets,
				       sizeof(*c->operation_sets), "operations");
	c->presets = copy_table(r, c->presets, c->n_presets, sizeof(*c->presets), "presets");
	c->agents = copy_table(r, c->agents, c->n_agents, sizeof(*c->agents), "agents");
	c->languages =
		copy_table(r, c->languages, c->n_languages, sizeof(*c->languages), "permissions");
	return c->permissions && c->operation_sets && c->presets && c->agents && c->languages ? 0
											      : -1;
}

static int compare_permissions(const void *a, const void *b)
{
	return strcmp(((const struct permission *)a)->id, ((const struct permission *)b)->id);
}

static int read_all(struct catalogue_reading *r, const struct catalogue *base)
{
	if (r->v.d->empty)
		return node_error(r->v.d, &r->v.d->root, r->v.e,
				  "the file is empty; write `permissions:`, or remove it");
	if (begin(r, base) || read_parts(r))
		return -1;
	qsort((void *)r->c->permissions, r->c->n_permissions, sizeof(*r->c->permissions),
	      compare_permissions);
	return catalogue_check(r);
}

static struct catalogue *new_catalogue(const struct catalogue *base)
{
	struct catalogue *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = *base;
	c->owned = calloc(1, sizeof(struct catalogue_memory));
	if (c->owned)
		return c;
	free(c);
	return NULL;
}

struct catalogue *catalogue_read(const struct catalogue *base, struct span text, const char *file,
				 struct err *e)
{
	struct document d;
	struct catalogue *c;
	int rc = -1;

	if (document_parse(text, POLICY_YAML, file, &d, e))
		return NULL;
	c = new_catalogue(base);
	if (c) {
		struct catalogue_reading r = {.v = {.d = &d, .e = e}, .c = c, .memory = c->owned};

		rc = read_all(&r, base);
	} else {
		err_set(e, "out of memory");
	}
	document_free(&d);
	if (rc == 0)
		return c;
	catalogue_free(c);
	return NULL;
}
