/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value: reading the nodes of a document as what a key expects.
 *
 * Every function returns 0, or -1 with "file:line:column: ..." in the message.
 * Nothing is converted: `yes` is no boolean and "22" in JSON is no number.
 */
#ifndef SG_POLICY_VALUE_H
#define SG_POLICY_VALUE_H

#include "policy/document.h"

struct value_reader {
	const struct document *d;
	struct err *e;
};

/* A string without NUL; in YAML plain or quoted. */
int value_string(const struct value_reader *r, const struct node *n,
		 const char **out) sg_must_check;
int value_number(const struct value_reader *r, const struct node *n, uint64_t min, uint64_t max,
		 uint64_t *out) sg_must_check;
int value_bool(const struct value_reader *r, const struct node *n, bool *out) sg_must_check;
/* A list, of one item at least unless `may_be_empty`. */
int value_list(const struct value_reader *r, const struct node *n, bool may_be_empty) sg_must_check;

/* One of a few words; the nearest is offered for another. */
int value_word(const struct value_reader *r, const struct node *n, const char *const *words,
	       size_t n_words, size_t *index) sg_must_check;

/* The keys of a map: each once, known, with its function. */
enum { VALUE_KEYS_MAX = 32 };
struct value_key {
	const char *name;
	int (*read)(void *context, const struct node *key, const struct node *value);
};
int value_map(const struct value_reader *r, const struct node *n, const struct value_key *keys,
	      size_t n_keys, void *context) sg_must_check;

#endif
