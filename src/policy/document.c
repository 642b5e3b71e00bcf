/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/document.h"

#include <stdarg.h>
#include <stdio.h>

int document_error(const struct document *d, uint32_t line, uint32_t column, struct err *e,
		   const char *fmt, ...)
{
	char text[ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(e, "%s:%u:%u: %s", d->file, line, column, text);
}

int node_prefix(const struct document *d, const struct node *n, struct err *e)
{
	return err_prefix(e, "%s:%u:%u", d->file, n->line, n->column);
}

struct node *node_add(struct node *parent)
{
	if (parent->n == parent->cap) {
		size_t cap = parent->cap ? 2 * parent->cap : 4;
		struct node *more = reallocarray(parent->items, cap, sizeof(*more));

		if (!more)
			return NULL;
		parent->items = more;
		parent->cap = cap;
	}
	parent->items[parent->n] = (struct node){0};
	return &parent->items[parent->n++];
}

/* Frees what the node holds. Recurses at most DOCUMENT_DEPTH_MAX deep: no parser goes deeper. */
static void node_clear(struct node *n)
{
	for (size_t i = 0; i < n->n; i++)
		node_clear(&n->items[i]);
	free(n->items);
	free(n->text);
	*n = (struct node){0};
}

void document_free(struct document *d)
{
	node_clear(&d->root);
}

/* Some editors begin a file with the byte order mark; it says nothing in UTF-8. */
static struct span without_mark(struct span text)
{
	if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
		return span_of(text.p + 3, text.n - 3);
	return text;
}

int document_parse(struct span text, enum policy_syntax syntax, const char *file,
		   struct document *d, struct err *e)
{
	int rc;

	*d = (struct document){.file = file, .syntax = syntax, .root = {.line = 1, .column = 1}};
	if (text.n > DOCUMENT_SIZE_MAX)
		return document_error(d, 1, 1, e, "the file is larger than %d MiB",
				      DOCUMENT_SIZE_MAX >> 20);
	text = without_mark(text);
	rc = syntax == POLICY_YAML ? document_parse_yaml(text, d, e)
				   : document_parse_json(text, d, e);
	if (rc)
		document_free(d);
	return rc;
}
