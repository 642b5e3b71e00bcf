/* SPDX-License-Identifier: Apache-2.0 */
/* name_list: a list of names that grows, and then is sorted. */
#ifndef SG_SANDBOX_NAME_LIST_H
#define SG_SANDBOX_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct name_list {
	char **v; /* NULL-terminated, or NULL before the first */
	size_t n;
	bool failed; /* out of memory on the way */
};

/* Takes a copy. */
void name_list_add(struct name_list *l, const char *name);

/*
 * The names, sorted, NULL-terminated; the caller frees with name_list_free(). NULL with the
 * message.
 */
char **name_list_finish(struct name_list *l, struct err *e);

void name_list_free(char **names); /* NULL does nothing */

#endif
