/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/host_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool fits(const struct host_pattern *p, const struct name *name, uint16_t port)
{
	size_t n = strlen(p->name);
	const char *end = name->s + name->n - n;

	if (p->port != port || name->n < n || memcmp(end, p->name, n) != 0)
		return false;
	return p->below ? name->n > n && end[-1] == '.' : name->n == n;
}

bool host_list_has(const struct host_list *list, const struct name *name, uint16_t port)
{
	for (size_t i = 0; i < list->n; i++)
		if (fits(&list->v[i], name, port))
			return true;
	return false;
}

void host_list_free(struct host_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i].name);
	free(list->v);
	*list = (struct host_list){0};
}

int host_list_copy(const struct host_list *from, struct host_list *to)
{
	*to = (struct host_list){0};
	for (size_t i = 0; i < from->n; i++) {
		struct host_pattern one = from->v[i];

		one.name = strdup(one.name);
		if (!one.name || host_list_take(to, &one) != 0) {
			host_list_free(to);
			return -ENOMEM;
		}
	}
	return 0;
}

int host_list_take(struct host_list *list, struct host_pattern *pattern)
{
	struct host_pattern *more = reallocarray(list->v, list->n + 1, sizeof(*more));

	if (!more) {
		free(pattern->name);
		return -ENOMEM;
	}
	list->v = more;
	list->v[list->n++] = *pattern;
	return 0;
}

bool host_pattern_equal(const struct host_pattern *a, const struct host_pattern *b)
{
	return a->port == b->port && a->below == b->below && strcmp(a->name, b->name) == 0;
}

static bool has_pattern(const struct host_list *list, const struct host_pattern *p)
{
	for (size_t i = 0; i < list->n; i++)
		if (host_pattern_equal(&list->v[i], p))
			return true;
	return false;
}

bool host_list_equal(const struct host_list *a, const struct host_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!has_pattern(b, &a->v[i]))
			return false;
	return true;
}
