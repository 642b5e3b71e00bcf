/* SPDX-License-Identifier: Apache-2.0 */
/* seen_log: what a sandbox was seen to try, from its connection log. */
#ifndef SG_CLI_SEEN_LOG_H
#define SG_CLI_SEEN_LOG_H

#include "policy/seen.h"
#include "policy/suggest.h"

struct seen_list {
	struct seen *v; /* each kind of thing once, with how often */
	size_t n, cap;
	size_t compacted; /* the first ones are sorted, and differ */
};

/* All that the log still has. 0, or -1 with the message and nothing to free. */
int seen_log_read(const char *name, struct seen_list *out, struct err *e) sg_must_check;
void seen_list_free(struct seen_list *l);

/* Adds one, in bounded memory for what repeats. 0 or -ENOMEM. */
int seen_list_add(struct seen_list *l, const struct seen *s) sg_must_check;

/* Sorts, and puts together what repeats. */
void seen_list_compact(struct seen_list *l);

/* Is it among those that were there when the list was put together last? */
bool seen_list_has(const struct seen_list *l, const struct seen *s);

/*
 * What was refused, added to the suggestions, the most often first; `others` is how often what
 * found no room was. 0, or -1 with the message.
 */
int seen_log_suggest(const char *name, struct suggestions *s, uint64_t *others,
		     struct err *e) sg_must_check;

#endif
