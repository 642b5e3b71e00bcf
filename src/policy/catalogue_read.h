/* SPDX-License-Identifier: Apache-2.0 */
/* catalogue_read: the parts of reading an administrator's catalogue. */
#ifndef SG_POLICY_CATALOGUE_READ_H
#define SG_POLICY_CATALOGUE_READ_H

#include "policy/permission.h"
#include "policy/value.h"

enum { CATALOGUE_ENTRIES_MAX = 1024 }; /* of one map or list in a file */

/* Memory that goes with a catalogue. */
struct catalogue_memory {
	void **block;
	size_t n, cap;
};

struct catalogue_reading {
	struct value_reader v;
	struct catalogue *c; /* its tables are in `memory` and have room for the whole file */
	struct catalogue_memory *memory;
};

/* `n` of `size` octets, all zero, that go with the catalogue. NULL with the message. */
void *catalogue_keep(struct catalogue_reading *r, size_t n, size_t size);
char *catalogue_keep_string(struct catalogue_reading *r, const char *s);

/* A map of entries with names of their own: each once, no more than CATALOGUE_ENTRIES_MAX. */
int catalogue_read_names(const struct catalogue_reading *r, const struct node *map) sg_must_check;

/* A list of strings that each pass `check`, of one at least; NULL-terminated. NULL with the
 * message. */
const char *const *catalogue_read_list(struct catalogue_reading *r, const struct node *list,
				       int (*check)(const char *, struct err *));

/* One entry each: `name` is its key. `files` gets the names by which a project shows it, or NULL.
 */
int catalogue_read_permission(struct catalogue_reading *r, const struct node *name,
			      const struct node *entry, struct permission *out,
			      const char *const **files) sg_must_check;
int catalogue_read_preset(struct catalogue_reading *r, const struct node *name,
			  const struct node *entry, struct preset *out) sg_must_check;
int catalogue_read_agent(struct catalogue_reading *r, const struct node *name,
			 const struct node *entry, struct agent *out) sg_must_check;
int catalogue_read_operations(struct catalogue_reading *r, const struct node *list,
			      const struct operation **out, size_t *n) sg_must_check;

/* One line for a person, without control characters. */
int catalogue_read_text(struct catalogue_reading *r, const struct node *n,
			const char **out) sg_must_check;

/* What no entry shows by itself: unknown ids, rings, what a preset must not hold. */
int catalogue_check(const struct catalogue_reading *r) sg_must_check;

#endif
