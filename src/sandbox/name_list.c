/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/name_list.h"

#include <stdlib.h>
#include <string.h>

void name_list_add(struct name_list *l, const char *name)
{
	char **v = reallocarray(l->v, l->n + 2, sizeof(*v));

	if (!v) {
		l->failed = true;
		return;
	}
	l->v = v;
	v[l->n] = strdup(name);
	v[l->n + 1] = NULL;
	if (v[l->n])
		l->n++;
	else
		l->failed = true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **name_list_finish(struct name_list *l, struct err *e)
{
	if (!l->v && !l->failed)
		l->v = calloc(1, sizeof(*l->v));
	if (l->v && !l->failed) {
		qsort(l->v, l->n, sizeof(*l->v), by_text);
		return l->v;
	}
	name_list_free(l->v);
	err_set(e, "out of memory");
	return NULL;
}

void name_list_free(char **names)
{
	for (char **p = names; p && *p; p++)
		free(*p);
	free(names);
}
