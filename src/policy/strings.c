/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void string_list_free(char **list)
{
	if (!list)
		return;
	for (char **s = list; *s; s++)
		free(*s);
	free(list);
}

size_t string_list_length(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

char **string_list_copy(char *const *list)
{
	size_t n = string_list_length(list);
	char **copy = calloc(n + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(list[i]);
		if (!copy[i]) {
			string_list_free(copy);
			return NULL;
		}
	}
	return copy;
}

bool string_list_has(char *const *list, const char *s)
{
	for (; list && *list; list++)
		if (strcmp(*list, s) == 0)
			return true;
	return false;
}

bool string_list_equal(char *const *a, char *const *b)
{
	if (!a || !b)
		return string_list_length(a) == string_list_length(b);
	while (*a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return *a == *b; /* both ended */
}

int string_list_add(char ***list, const char *s)
{
	size_t n = string_list_length(*list);
	char *copy = strdup(s);
	char **more = copy ? reallocarray(*list, n + 2, sizeof(*more)) : NULL;

	if (!more) {
		free(copy);
		return -ENOMEM;
	}
	more[n] = copy;
	more[n + 1] = NULL;
	*list = more;
	return 0;
}

bool string_list_remove(char ***list, const char *s)
{
	size_t n = string_list_length(*list), kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp((*list)[i], s) == 0)
			free((*list)[i]);
		else
			(*list)[kept++] = (*list)[i];
	}
	if (kept == n)
		return false;
	(*list)[kept] = NULL;
	if (kept == 0) {
		free(*list);
		*list = NULL;
	}
	return true;
}
