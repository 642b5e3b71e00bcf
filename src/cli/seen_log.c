/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/seen_log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/connection_reader.h"
#include "audit/event.h"
#include "sandbox/log/log_folder.h"
#include "sandbox/refused.h"
#include "sandbox/log/seen_row.h"

#define CONNECTIONS_FOLDER "connections"

/* A list is put together each time it has doubled: what repeats takes no room. */
enum { COMPACT_FROM = 4096 };

/* --- the list --- */

static int compare_flags(const struct seen *a, const struct seen *b)
{
	const int x[] = {a->lookup,	a->has_name, a->has_addr,
			 (int)a->proto, a->port,     (int)a->reason};
	const int y[] = {b->lookup,	b->has_name, b->has_addr,
			 (int)b->proto, b->port,     (int)b->reason};

	for (size_t i = 0; i < sg_array_len(x); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Names stand for whatever addresses they have, unless the address was why. */
static bool counts_address(const struct seen *s)
{
	return s->has_addr && (!s->has_name || address_special(NULL, &s->addr));
}

static int by_what(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = compare_flags(x, y);

	if (order == 0 && x->has_name)
		order = strcmp(x->name.s, y->name.s);
	if (order == 0)
		order = strcmp(x->permission, y->permission);
	if (order == 0)
		order = counts_address(x) - counts_address(y);
	if (order == 0 && counts_address(x))
		order = memcmp(x->addr.b, y->addr.b, sizeof(x->addr.b));
	return order;
}

void seen_list_compact(struct seen_list *l)
{
	size_t kept = 0;

	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_what);
	for (size_t i = 0; i < l->n; i++) {
		if (kept && by_what(&l->v[kept - 1], &l->v[i]) == 0)
			l->v[kept - 1].count += l->v[i].count;
		else
			l->v[kept++] = l->v[i];
	}
	l->n = l->compacted = kept;
}

int seen_list_add(struct seen_list *l, const struct seen *s)
{
	if (l->n >= COMPACT_FROM && l->n >= 2 * l->compacted)
		seen_list_compact(l);
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 256;
		struct seen *v = reallocarray(l->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = *s;
	return 0;
}

bool seen_list_has(const struct seen_list *l, const struct seen *s)
{
	return l->compacted && bsearch(s, l->v, l->compacted, sizeof(*l->v), by_what);
}

void seen_list_free(struct seen_list *l)
{
	free(l->v);
	*l = (struct seen_list){.v = NULL};
}

/* --- the log --- */

/* The end of a flow says again what its beginning said. */
static bool is_end(const json_t *line)
{
	const char *action = json_string_value(json_object_get(line, "action"));

	return action && strcmp(action, event_action(RECORD_END)) == 0;
}

static int add_line(struct seen_list *l, struct span text)
{
	json_t *line = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
	struct seen s;
	int rc = 0;

	if (line && !is_end(line) && seen_row_read(line, &s) && !refused_is_own(&s))
		rc = seen_list_add(l, &s);
	json_decref(line);
	return rc;
}

static int read_all(int folder, struct seen_list *l)
{
	_cleanup_fd_ int dir =
		openat(folder, CONNECTIONS_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct connection_reader r;
	struct span line;
	int rc;

	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	rc = connection_reader_open(&r, dir, NULL);
	if (rc)
		return rc;
	while ((rc = connection_reader_next(&r, &line)) > 0 && (rc = add_line(l, line)) == 0)
		;
	connection_reader_close(&r);
	return rc;
}

int seen_log_read(const char *name, struct seen_list *out, struct err *e)
{
	_cleanup_fd_ int folder = log_folder_open(name, e);
	int rc;

	*out = (struct seen_list){.v = NULL};
	if (folder < 0)
		return -1;
	rc = read_all(folder, out);
	if (rc) {
		seen_list_free(out);
		return err_set(e, "%s: its connection log: %s", name, err_why(-rc));
	}
	seen_list_compact(out);
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_what(a, b);
}

int seen_log_suggest(const char *name, struct suggestions *s, uint64_t *others, struct err *e)
{
	struct seen_list l;
	int rc = seen_log_read(name, &l, e);

	*others = 0;
	if (rc)
		return -1;
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_count);
	for (size_t i = 0; i < l.n; i++)
		if (l.v[i].reason != REASON_NONE && suggest_add(s, &l.v[i]))
			*others += l.v[i].count;
	seen_list_free(&l);
	return 0;
}
