/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: a policy file as a tree in which each node knows its line and column.
 *
 * YAML and JSON become the same tree, so that what a policy means is read in one
 * place. The tree holds less than either language: scalars, lists and maps
 * with plain keys. Anchors, aliases, tags, directives and further documents are
 * refused: a person must be able to see what a policy says where it says it.
 */
#ifndef SG_POLICY_DOCUMENT_H
#define SG_POLICY_DOCUMENT_H

#include "policy/policy.h"

enum {
	DOCUMENT_DEPTH_MAX = 16,
	DOCUMENT_SIZE_MAX = 256 << 20, /* octets */
};

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
	uint8_t kind;	       /* enum node_kind */
	bool plain;	       /* a scalar without quotes: in JSON a number, true, false or null */
	uint32_t line, column; /* from 1; columns count characters */
	char *text;	       /* NODE_SCALAR: NUL-terminated, may hold NULs before the end */
	size_t text_n;
	struct node *items; /* NODE_LIST: n of them; NODE_MAP: key, value, key, value, ... */
	size_t n, cap;
};

struct document {
	const char *file; /* for messages; borrowed */
	enum policy_syntax syntax;
	bool empty; /* nothing but comments */
	struct node root;
};

/* 0 or -1 with "file:line:column: ..."; then nothing is left to free. */
int document_parse(struct span text, enum policy_syntax syntax, const char *file,
		   struct document *d, struct err *e) sg_must_check;
void document_free(struct document *d);

/* For the two parsers. */
int document_parse_yaml(struct span text, struct document *d, struct err *e) sg_must_check;
int document_parse_json(struct span text, struct document *d, struct err *e) sg_must_check;

/* A new last item of a list or map, all zero; NULL without memory. Moves the items before it. */
struct node *node_add(struct node *parent);

/* Writes "file:line:column: MESSAGE". Returns -1. */
int document_error(const struct document *d, uint32_t line, uint32_t column, struct err *e,
		   const char *fmt, ...) sg_printf(5, 6);

/* The same for the place of a node; `node_prefix` puts the place before the message there is. */
#define node_error(d, n, e, ...) document_error((d), (n)->line, (n)->column, (e), __VA_ARGS__)
int node_prefix(const struct document *d, const struct node *n, struct err *e);

static inline struct span node_span(const struct node *n)
{
	return span_of(n->text, n->text_n);
}

#endif
