/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/file_view.h"

#include <stdio.h>
#include <string.h>

struct view {
	const struct file_plan *p;
	const struct tree *host;
};

const struct mount *file_view_mount(const struct file_plan *p, const char *path)
{
	const struct mount *best = NULL;
	size_t best_n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct mount *m = &p->mounts[i];
		size_t n = strlen(m->dest);

		if (n >= best_n && path_holds(m->dest, path)) {
			best = m;
			best_n = n;
		}
	}
	return best;
}

bool file_view_is_bind(const struct mount *m)
{
	return m->kind == MOUNT_RO || m->kind == MOUNT_RW;
}

/* Where the host keeps what a bind shows at `path`. */
static bool host_path(const struct mount *m, const char *path, char out[PATH_MAX])
{
	const char *rest = path + strlen(m->dest);

	while (*rest == '/')
		rest++;
	if (!*rest)
		return path_tidy(m->source, out);
	return path_join(m->source, rest, out);
}

static enum path_kind kind_of_mount(const struct view *v, const struct mount *m)
{
	switch (m->kind) {
	case MOUNT_RO:
	case MOUNT_RW:
		return v->host->kind(v->host->ctx, m->source);
	case MOUNT_LINK:
		return PATH_LINK;
	case MOUNT_TEXT:
		return PATH_FILE;
	case MOUNT_BLANK:
		return PATH_OTHER;
	default:
		return PATH_DIR;
	}
}

static bool is_above_a_mount(const struct file_plan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (path_holds(path, p->mounts[i].dest))
			return true;
	return false;
}

static enum path_kind view_kind(const void *ctx, const char *path)
{
	const struct view *v = ctx;
	const struct mount *m = file_view_mount(v->p, path);
	enum path_kind k = PATH_NONE;
	char host[PATH_MAX];

	if (m && strcmp(m->dest, path) == 0)
		return kind_of_mount(v, m);
	if (m && file_view_is_bind(m) && host_path(m, path, host))
		k = v->host->kind(v->host->ctx, host);
	if (m && (m->kind == MOUNT_DEV || m->kind == MOUNT_PROC))
		return PATH_OTHER;
	return k == PATH_NONE && is_above_a_mount(v->p, path) ? PATH_DIR : k;
}

static bool view_link(const void *ctx, const char *path, char *out, size_t cap)
{
	const struct view *v = ctx;
	const struct mount *m = file_view_mount(v->p, path);
	char host[PATH_MAX];

	if (m && m->kind == MOUNT_LINK)
		return (size_t)snprintf(out, cap, "%s", m->source) < cap;
	return m && file_view_is_bind(m) && host_path(m, path, host) &&
	       v->host->link(v->host->ctx, host, out, cap);
}

bool file_view_resolve(const struct file_plan *p, const struct tree *host, const char *path,
		       char out[PATH_MAX])
{
	struct view v = {p, host};
	struct tree t = {.ctx = &v, .kind = view_kind, .link = view_link};

	return path_resolve(&t, path, out);
}

enum path_kind file_plan_look(const struct file_plan *p, const struct tree *host, const char *path)
{
	struct view v = {p, host};
	char real[PATH_MAX];

	return file_view_resolve(p, host, path, real) ? view_kind(&v, real) : PATH_NONE;
}
