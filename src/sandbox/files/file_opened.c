/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/file_opened.h"

#include <string.h>

#include "sandbox/files/file_plan.h"
#include "sandbox/files/file_view.h"

struct opened {
	const struct file_request *r;
	struct file_plan *p; /* NULL: only counted */
	const char *folder;
	size_t n;
};

static void add_entry(const struct opened *o, const char *path)
{
	const struct tree *host = o->r->host;
	enum path_kind k = host->kind(host->ctx, path);
	char target[PATH_MAX];
	struct mount m = {
		.kind = MOUNT_RO, .rank = RANK_MASK, .dest = (char *)path, .source = (char *)path};

	if (k == PATH_LINK && host->link(host->ctx, path, target, sizeof(target))) {
		m.kind = MOUNT_LINK;
		m.source = target;
	} else if (k != PATH_FILE && k != PATH_DIR) {
		return;
	}
	if (!file_plan_has(o->p, path))
		file_plan_add(o->p, &m);
}

static bool take_entry(void *arg, const char *name)
{
	struct opened *o = arg;
	char path[PATH_MAX];

	if (++o->n > FILE_OPENED_MAX)
		return false;
	if (o->p && path_join(o->folder, name, path))
		add_entry(o, path);
	return true;
}

/* The host's own, as it is there, and not handed in by an option or hidden. */
static bool is_host_folder(const struct file_request *r, const struct file_plan *p,
			   const char *path)
{
	const struct mount *m = file_view_mount(p, path);
	char real[PATH_MAX];

	return m && m->kind == MOUNT_RO && strcmp(m->source, m->dest) == 0 &&
	       file_view_resolve(p, r->host, path, real) && strcmp(real, path) == 0 &&
	       file_plan_look(p, r->host, path) == PATH_DIR;
}

/* Down from `within` as far as the host has folders on the way to `path`. */
static void find_lowest(const struct file_request *r, const struct file_plan *p, const char *within,
			const char *path, char out[PATH_MAX])
{
	char next[PATH_MAX];
	size_t n = strlen(within);

	strcpy(out, within);
	while (path[n] == '/') {
		n += 1 + strcspn(path + n + 1, "/");
		if (!path[n])
			return;
		memcpy(next, path, n);
		next[n] = 0;
		if (!is_host_folder(r, p, next))
			return;
		strcpy(out, next);
	}
}

bool file_opened_place(const struct file_request *r, struct file_plan *p, const char *within,
		       const char *path)
{
	const struct mount *above = file_view_mount(p, within);
	char lowest[PATH_MAX];
	struct opened o = {.r = r, .folder = lowest};
	struct mount m = {.kind = MOUNT_TMPFS, .rank = RANK_MASK, .mode = 0755, .dest = lowest};

	if (!above || !file_view_is_bind(above))
		return !above || above->rank != RANK_HIDE;
	if (!r->host->each || !is_host_folder(r, p, within))
		return false;
	find_lowest(r, p, within, path, lowest);
	if (!r->host->each(r->host->ctx, lowest, take_entry, &o))
		return false;
	file_plan_add(p, &m);
	o.p = p;
	o.n = 0;
	return r->host->each(r->host->ctx, lowest, take_entry, &o);
}
