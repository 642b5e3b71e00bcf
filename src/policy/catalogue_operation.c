/* SPDX-License-Identifier: Apache-2.0 */
/* catalogue_operation: the operations of an administrator's catalogue, own ones and named lists. */
#include "base/nearest.h"
#include "policy/catalogue_read.h"
#include "policy/quote.h"
#include "policy/rule_entry.h"

enum { OPERATIONS_MAX = 4096 };

struct entry {
	struct catalogue_reading *r;
	struct operation op;
	const struct operation_set *use; /* a named list in the place of all but `host` */
	bool own;			 /* has a key beside `use` and `host` */
};

static int read_says(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	t->own = true;
	return catalogue_read_text(t->r, value, &t->op.says);
}

static int read_host(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return catalogue_read_text(t->r, value, &t->op.host);
}

static int read_methods(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	t->own = true;
	t->op.methods = catalogue_read_list(t->r, value, rule_check_method);
	return t->op.methods ? 0 : -1;
}

static int read_paths(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	t->own = true;
	t->op.paths = catalogue_read_list(t->r, value, rule_check_path);
	return t->op.paths ? 0 : -1;
}

static int read_check(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	size_t n = 0, which;

	while (catalogue_checks[n])
		n++;
	t->own = true;
	if (value_word(&t->r->v, value, catalogue_checks, n, &which))
		return -1;
	t->op.check = catalogue_checks[which];
	return 0;
}

static int read_write(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	t->own = true;
	return value_bool(&t->r->v, value, &t->op.write);
}

static int read_use(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	const struct catalogue *c = t->r->c;
	struct nearest near;
	char shown[QUOTE_MAX];
	const char *word;

	if (value_string(&t->r->v, value, &word))
		return -1;
	near = nearest_to(word);
	for (size_t i = 0; i < c->n_operation_sets; i++) {
		nearest_offer(&near, c->operation_sets[i].name);
		if (strcmp(c->operation_sets[i].name, word) == 0)
			t->use = &c->operation_sets[i];
	}
	if (t->use)
		return 0;
	quote_string(word, shown);
	if (near.word)
		return node_error(t->r->v.d, value, t->r->v.e,
				  "%s is no list of operations; did you mean `%s`?", shown,
				  near.word);
	return node_error(t->r->v.d, value, t->r->v.e, "%s is no list of operations", shown);
}

static const struct value_key keys[] = {
	{"says", read_says},   {"host", read_host},   {"methods", read_methods},
	{"paths", read_paths}, {"check", read_check}, {"write", read_write},
	{"use", read_use},
};

static int read_entry(struct catalogue_reading *r, const struct node *n, struct entry *t)
{
	*t = (struct entry){.r = r};
	if (value_map(&r->v, n, keys, sg_array_len(keys), t))
		return -1;
	if (t->use && t->own)
		return node_error(r->v.d, n, r->v.e,
				  "`use` stands alone or with `host`; write the rest as an "
				  "operation of its own");
	if (!t->use && !t->op.says)
		return node_error(r->v.d, n, r->v.e, "an operation needs `says`, or `use`");
	return 0;
}

/* Those of a named list, or the one of its own. */
static size_t count_of(const struct entry *t)
{
	return t->use ? t->use->n_operations : 1;
}

static void put(const struct entry *t, struct operation *out)
{
	if (!t->use) {
		*out = t->op;
		return;
	}
	for (size_t i = 0; i < t->use->n_operations; i++) {
		out[i] = t->use->operations[i];
		if (t->op.host)
			out[i].host = t->op.host;
	}
}

int catalogue_read_operations(struct catalogue_reading *r, const struct node *list,
			      const struct operation **out, size_t *n)
{
	struct operation *all;
	struct entry t;
	size_t total = 0;

	if (value_list(&r->v, list, false))
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		if (read_entry(r, &list->items[i], &t))
			return -1;
		total += count_of(&t);
		if (total > OPERATIONS_MAX)
			return node_error(r->v.d, list, r->v.e, "more than %d operations",
					  OPERATIONS_MAX);
	}
	all = catalogue_keep(r, total, sizeof(*all));
	if (!all)
		return -1;
	*out = all;
	*n = total;
	for (size_t i = 0; i < list->n; i++) {
		if (read_entry(r, &list->items[i], &t))
			return -1;
		put(&t, all);
		all += count_of(&t);
	}
	return 0;
}
