/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * GROUPS slots in the order of their first use. Finding a group scans one array of
 * hashes (2 KiB, a few cache lines at a time), which at this size costs less than
 * a chained table and needs no links to keep right. When all slots are taken the one
 * seen longest ago is folded into `other` and moves to the end of the order.
 *
 * The table outlives the process that writes it, which may be killed in the middle of any of this:
 * refusals_mend() makes it whole again.
 */
#include "audit/refusals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GROUPS = 256 };

struct group {
	enum record_proto proto;
	enum reason reason;
	bool has_name, has_addr;
	uint16_t port;
	struct name name;
	struct addr addr;
	char permission[RECORD_PERMISSION_MAX]; /* empty: none is known */
	uint64_t count;
	uint64_t seen;	/* value of the total when it was last noted */
	uint64_t order; /* value of the total when it was made */
};

struct refusals {
	uint64_t total, other;
	size_t n;
	uint64_t hash[GROUPS];
	struct group group[GROUPS];
};

struct refusals *refusals_new(void)
{
	void *p = mmap(NULL, sizeof(struct refusals), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void refusals_free(struct refusals *r)
{
	if (r)
		munmap(r, sizeof(*r));
}

/* A refusal with a name is grouped by it whatever address it had: a person allows names. */
static bool is_by_name(const struct refusal *what)
{
	return what->name != NULL;
}

static const char *permission_of(const struct refusal *what)
{
	return what->permission ? what->permission : "";
}

static uint64_t group_hash(const struct refusal *what)
{
	struct {
		uint64_t target;
		uint32_t proto_reason;
		uint32_t port;
		uint64_t permission;
	} key = {
		.proto_reason = (uint32_t)what->proto << 16 | (uint32_t)what->reason,
		.port = what->port,
	};

	if (what->permission)
		key.permission = name_hash(what->permission, strlen(what->permission));
	if (is_by_name(what))
		key.target = name_hash(what->name->s, what->name->n);
	else if (what->addr)
		key.target = name_hash((const char *)what->addr->b, sizeof(what->addr->b));
	return name_hash((const char *)&key, sizeof(key));
}

static bool group_is(const struct group *g, const struct refusal *what)
{
	if (g->proto != what->proto || g->reason != what->reason || g->port != what->port ||
	    g->has_name != is_by_name(what) || strcmp(g->permission, permission_of(what)) != 0)
		return false;
	if (is_by_name(what))
		return name_equal(&g->name, what->name);
	return g->has_addr == (what->addr != NULL) &&
	       (!what->addr || addr_equal(&g->addr, what->addr));
}

static size_t least_recent(const struct refusals *r)
{
	size_t least = 0;

	for (size_t i = 1; i < GROUPS; i++)
		if (r->group[i].seen < r->group[least].seen)
			least = i;
	return least;
}

static struct group *make_group(struct refusals *r, const struct refusal *what, uint64_t hash)
{
	bool folds = r->n == GROUPS;
	size_t i = folds ? least_recent(r) : r->n++;
	struct group *g = &r->group[i];

	r->other += folds ? g->count : 0;
	r->hash[i] = hash;
	*g = (struct group){
		.proto = what->proto,
		.reason = what->reason,
		.port = what->port,
		.has_name = what->name != NULL,
		.has_addr = what->addr != NULL,
		.order = r->total,
	};
	snprintf(g->permission, sizeof(g->permission), "%s", permission_of(what));
	if (what->name)
		g->name = *what->name;
	if (what->addr)
		g->addr = *what->addr;
	return g;
}

void refusals_note(struct refusals *r, const struct refusal *what)
{
	uint64_t hash = group_hash(what);
	struct group *g = NULL;

	for (size_t i = 0; i < r->n && !g; i++)
		if (r->hash[i] == hash && group_is(&r->group[i], what))
			g = &r->group[i];
	r->total++;
	if (!g)
		g = make_group(r, what, hash);
	g->count++;
	g->seen = r->total;
}

/* A bool that is neither must not be read as one. */
static bool is_bool(const bool *b)
{
	uint8_t octet;

	memcpy(&octet, b, sizeof(octet));
	return octet <= 1;
}

static bool is_text(const char *s, size_t size)
{
	size_t n = strnlen(s, size);

	for (size_t i = 0; i < n; i++)
		if (s[i] <= 0x20 || s[i] >= 0x7f)
			return false;
	return n < size;
}

static bool is_whole(const struct group *g)
{
	return is_bool(&g->has_name) && is_bool(&g->has_addr) && g->proto < RECORD_PROTOS &&
	       g->reason < REASONS && g->count && (!g->has_name || name_is_canonical(&g->name)) &&
	       is_text(g->permission, sizeof(g->permission));
}

static struct refusal refusal_of(const struct group *g)
{
	return (struct refusal){
		.proto = g->proto,
		.reason = g->reason,
		.name = g->has_name ? &g->name : NULL,
		.addr = g->has_addr ? &g->addr : NULL,
		.port = g->port,
		.permission = g->permission[0] ? g->permission : NULL,
	};
}

void refusals_mend(struct refusals *r)
{
	size_t n = r->n < GROUPS ? r->n : GROUPS;
	uint64_t counted = 0;

	r->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct group *g = &r->group[r->n];
		struct refusal what;

		memmove(g, &r->group[i], sizeof(*g));
		/* The total is the measure: no group has more than is left of it. */
		if (g->count > r->total - counted)
			g->count = r->total - counted;
		if (!is_whole(g))
			continue;
		what = refusal_of(g);
		r->hash[r->n++] = group_hash(&what);
		counted += g->count;
	}
	r->other = r->total - counted;
}

struct refusals *refusals_copy(const struct refusals *r)
{
	struct refusals *copy = refusals_new();

	if (!copy)
		return NULL;
	memcpy(copy, r, sizeof(*copy));
	refusals_mend(copy);
	return copy;
}

uint64_t refusals_total(const struct refusals *r)
{
	return r->total;
}

uint64_t refusals_other(const struct refusals *r)
{
	return r->other;
}

static int by_order(const void *a, const void *b)
{
	const struct group *const *x = a, *const *y = b;

	return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

void refusals_each(const struct refusals *r, refusals_fn *fn, void *ctx)
{
	const struct group *sorted[GROUPS];

	for (size_t i = 0; i < r->n; i++)
		sorted[i] = &r->group[i];
	qsort(sorted, r->n, sizeof(sorted[0]), by_order);
	for (size_t i = 0; i < r->n; i++) {
		struct refusal what = refusal_of(sorted[i]);

		fn(ctx, &what, sorted[i]->count);
	}
}
