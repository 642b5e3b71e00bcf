/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/file_hold.h"

#include <string.h>

#include "sandbox/files/file_plan.h"
#include "sandbox/files/file_view.h"

struct holder {
	const struct file_request *r;
	struct file_plan *p;
	struct err *e;
};

static enum path_kind host_look(const struct holder *h, const char *path)
{
	return h->r->host->kind(h->r->host->ctx, path);
}

/* Where mount `m` shows the host's `path`, which lies below what it mounts. */
static bool shown_at(const struct mount *m, const char *path, char dest[PATH_MAX])
{
	size_t n = strlen(m->source);

	return path_join(m->dest, path + n + (path[n] == '/'), dest);
}

/* Is the host's `path` what is seen at `dest`, and may it be written there? */
static bool is_writable(const struct holder *h, const char *path, const char *dest)
{
	const struct mount *m = file_view_mount(h->p, dest);
	char source[PATH_MAX];
	const char *rest;

	if (!m || m->kind != MOUNT_RW)
		return false;
	rest = dest + strlen(m->dest);
	rest += *rest == '/';
	return path_join(m->source, rest, source) && strcmp(source, path) == 0;
}

/* --- what is above --- */

/* The folder of the host's that is seen at `dest`, on a mount that the sandbox may write. */
static bool can_be_moved(const struct file_plan *p, const char *dest, char source[PATH_MAX])
{
	const struct mount *m = file_view_mount(p, dest);
	size_t n = m ? strlen(m->dest) : 0;

	/* Its own home has nothing that holds for the next start but what is made anew then. */
	return m && m->kind == MOUNT_RW && m->rank != RANK_HOME && dest[n] == '/' &&
	       path_join(m->source, dest + n + 1, source);
}

/* The folders from a mount up to what it was mounted on. */
static void hold_above(const struct holder *h, const char *dest)
{
	char upper[PATH_MAX], source[PATH_MAX];
	struct mount m = {.kind = MOUNT_RW,
			  .rank = RANK_WORK,
			  .dest = upper,
			  .source = source,
			  .checked = true};
	char *slash;

	strcpy(upper, dest);
	while ((slash = strrchr(upper, '/')) && slash != upper) {
		*slash = 0;
		if (!can_be_moved(h->p, upper, source) || host_look(h, source) != PATH_DIR)
			return;
		file_plan_add(h->p, &m);
	}
}

static bool shows(const struct mount *m, const char *path)
{
	return file_view_is_bind(m) && path_holds(m->source, path) && strcmp(m->source, path) != 0;
}

/* --- the folders themselves --- */

static int hide_in(struct holder *h, size_t mount, const char *own)
{
	const struct mount *m = &h->p->mounts[mount];
	enum path_kind k = host_look(h, own);
	char dest[PATH_MAX];

	if (k == PATH_NONE && m->kind == MOUNT_RW)
		return err_set(
			h->e,
			"--rw %s: the sandbox could make %s, which is for sandgate's own files; "
			"make it first: mkdir -p %s",
			m->source, own, own);
	if (!shown_at(m, own, dest))
		h->p->failed = true;
	else
		file_plan_cover(h->p, dest, k, RANK_HIDE);
	return 0;
}

/* --- links on the way --- */

struct way {
	struct holder *h;
	size_t n; /* mounts to look at */
	char link[PATH_MAX];
};

static bool is_held_link(void *ctx, const char *link)
{
	struct way *w = ctx;
	char dest[PATH_MAX];

	for (size_t i = 0; i < w->n; i++) {
		const struct mount *m = &w->h->p->mounts[i];

		if (!shows(m, link) || !shown_at(m, link, dest) || !is_writable(w->h, link, dest))
			continue;
		strcpy(w->link, link);
		return false;
	}
	return true;
}

static int check_way(struct holder *h, size_t n, const char *way)
{
	struct way w = {.h = h, .n = n};
	char real[PATH_MAX];

	if (path_resolve_each(h->r->host, way, real, is_held_link, &w) || !w.link[0])
		return 0;
	return err_set(h->e,
		       "%s: the sandbox could replace this link, by which sandgate finds its own "
		       "files in %s; share a folder that does not hold it",
		       w.link, way);
}

/* --- all of it --- */

int file_hold_places(const struct file_request *r, struct file_plan *p, struct err *e)
{
	struct holder h = {r, p, e};
	size_t n = p->n;

	for (const char *const *way = r->own_ways; way && *way; way++)
		if (check_way(&h, n, *way))
			return -1;
	for (size_t i = 0; i < n && !p->failed; i++)
		for (const char *const *own = r->own; own && *own; own++)
			if (shows(&p->mounts[i], *own) && hide_in(&h, i, *own))
				return -1;
	n = p->n;
	for (size_t i = 0; i < n && !p->failed; i++)
		hold_above(&h, p->mounts[i].dest);
	return 0;
}
