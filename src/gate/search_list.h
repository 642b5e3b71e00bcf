/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_list: tells the retries that a resolver library makes with its search list
 * ("api.example.com.corp.lan", "api.example.com.lan", "api.example.com") from names that a program
 * means, so that a refused retry is counted under its suffix and not listed as a name.
 */
#ifndef SG_GATE_SEARCH_LIST_H
#define SG_GATE_SEARCH_LIST_H

#include "base/clock.h"
#include "base/name.h"

enum { SEARCH_RECENT = 16, SEARCH_SUFFIXES = 8 };

struct search_list {
	size_t next_recent, next_suffix; /* the oldest is written over */
	struct name recent[SEARCH_RECENT];
	mono_t asked[SEARCH_RECENT];
	struct name suffixes[SEARCH_SUFFIXES];
};

/* A name was asked for. Learns the suffix from a name that was asked with and without it. */
void search_list_note(struct search_list *l, const struct name *name, mono_t now);

/*
 * When the name ends in a suffix that was learned: that suffix, with what stands before it in
 * *stem. NULL otherwise. It is a retry if the stem is a name that was asked for as well.
 */
const struct name *search_list_split(const struct search_list *l, const struct name *name,
				     struct name *stem);

bool search_list_was_asked(const struct search_list *l, const struct name *name);

#endif
