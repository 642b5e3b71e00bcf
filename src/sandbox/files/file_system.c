/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/file_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sandbox/files/file_hold.h"
#include "sandbox/files/file_opened.h"
#include "sandbox/files/file_plan.h"
#include "sandbox/files/file_tables.h"
#include "sandbox/files/file_view.h"

enum { MOUNTS_MAX = 1024 }; /* bubblewrap takes 9000 arguments */

/* Places of the sandbox's own: never what --rw, --ro or --hide may take away whole. */
static const char *const own_places[] = {"/", "/run", "/proc", "/dev", "/sys", SANDBOX_FILES};

static const char apt_config[] = "APT::Sandbox::User \"root\";\n";

struct planner {
	const struct file_request *r;
	struct file_plan *p;
	struct err *e;
};

/* --- the system --- */

static enum path_kind host_look(const struct planner *b, const char *path)
{
	return b->r->host->kind(b->r->host->ctx, path);
}

static void add_bind_row(struct planner *b, const struct file_row *row)
{
	struct mount m = {.kind = MOUNT_RO, .dest = (char *)row->path, .source = (char *)row->path};
	enum path_kind k = host_look(b, row->path);
	char target[PATH_MAX];

	if (k == PATH_LINK &&
	    b->r->host->link(b->r->host->ctx, row->path, target, sizeof(target))) {
		m.kind = MOUNT_LINK;
		m.source = target;
		file_plan_add(b->p, &m);
	} else if (k == PATH_DIR) {
		file_plan_add(b->p, &m);
	}
}

static bool applies(const struct planner *b, const struct file_row *row)
{
	switch (row->when) {
	case IF_ROOT:
		return b->r->as_root;
	case UNLESS_ROOT:
		return !b->r->as_root;
	case OF_HOST_ROOT:
		return b->r->host_root;
	default:
		return true;
	}
}

static void add_row(struct planner *b, const struct file_row *row)
{
	struct mount m = {.kind = row->kind,
			  .mode = row->mode,
			  .dest = (char *)row->path,
			  .source = (char *)row->target};

	if (row->kind == MOUNT_RO)
		add_bind_row(b, row);
	else if (row->kind == MOUNT_BLANK)
		file_plan_cover(b->p, row->path, host_look(b, row->path), RANK_BASE);
	else
		file_plan_add(b->p, &m);
}

static void add_system(struct planner *b)
{
	for (size_t i = 0; i < file_n_system_rows; i++)
		if (applies(b, &file_system_rows[i]))
			add_row(b, &file_system_rows[i]);
}

static void add_masks(struct planner *b)
{
	for (const char *const *p = b->r->masked; p && *p; p++) {
		enum path_kind k = host_look(b, *p);

		if (k == PATH_DIR || k == PATH_FILE)
			file_plan_cover(b->p, *p, k, RANK_MASK);
	}
}

static void add_devices(struct planner *b)
{
	struct mount m = {.kind = MOUNT_DEVICE};

	for (const char *const *p = b->r->devices; p && *p; p++) {
		m.dest = m.source = (char *)*p;
		if (host_look(b, *p) == PATH_OTHER)
			file_plan_add(b->p, &m);
	}
}

/* --- HOME and the working directory --- */

static bool in_closed_system(const char *path)
{
	for (size_t i = 0; i < file_n_system_rows; i++)
		if (file_system_rows[i].closed && path_holds(file_system_rows[i].path, path))
			return true;
	return false;
}

static bool holds_system(const char *path)
{
	for (size_t i = 0; i < file_n_system_rows; i++)
		if (path_holds(path, file_system_rows[i].path))
			return true;
	return false;
}

/* HOME as it can be inside: a folder of its own that hides nothing of the system. */
static void choose_home(struct planner *b)
{
	const char *h = b->r->home;
	char tidy[PATH_MAX];

	if (b->r->as_root)
		h = "/root";
	if (!h || *h != '/' || strstr(h, "/..") || !path_tidy(h, tidy) || in_closed_system(tidy) ||
	    holds_system(tidy))
		strcpy(tidy, "/home/user");
	b->p->home = strdup(tidy);
	if (!b->p->home)
		b->p->failed = true;
}

static void add_home(struct planner *b)
{
	struct mount m = {.kind = MOUNT_TMPFS, .rank = RANK_HOME, .mode = 0700};

	choose_home(b);
	if (b->p->failed)
		return;
	m.dest = b->p->home;
	if (b->r->kept_home) {
		m.kind = MOUNT_RW;
		m.source = (char *)b->r->kept_home;
		m.checked = true;
	}
	file_plan_add(b->p, &m);
}

/* Whether a folder of sandgate's own lies in `path`, or `path` in one. */
static bool is_near_own(const struct file_request *r, const char *path)
{
	for (const char *const *own = r->own; own && *own; own++)
		if (path_holds(path, *own) || path_holds(*own, path))
			return true;
	return false;
}

const char *file_plan_why_not_shared(const struct file_request *r)
{
	char home[PATH_MAX] = "";

	if (r->home && *r->home == '/' && !path_resolve(r->host, r->home, home))
		return "cannot be told apart from your home folder";
	if (*home && strcmp(home, r->cwd) == 0)
		return "is your home folder";
	if (*home && path_holds(r->cwd, home))
		return "holds your home folder";
	if (holds_system(r->cwd) || in_closed_system(r->cwd))
		return "is a folder of the system";
	if (is_near_own(r, r->cwd))
		return "holds sandgate's own files";
	return NULL;
}

/* Exists with no link on the way from the working directory. */
static enum path_kind look_below(const struct planner *b, const char *part, char out[PATH_MAX])
{
	char upper[PATH_MAX];
	const char *slash = strchr(part, '/');

	if (slash) {
		snprintf(upper, sizeof(upper), "%.*s", (int)(slash - part), part);
		if (look_below(b, upper, out) != PATH_DIR)
			return PATH_NONE;
	}
	if (!path_join(b->r->cwd, part, out))
		return PATH_NONE;
	return host_look(b, out);
}

static void add_checked(struct planner *b, enum mount_kind kind, enum mount_rank rank,
			const char *path)
{
	struct mount m = {.kind = kind,
			  .rank = rank,
			  .dest = (char *)path,
			  .source = (char *)path,
			  .checked = true};

	if (!file_plan_has(b->p, path))
		file_plan_add(b->p, &m);
}

/* Where `.git` is a file it says where git finds its hooks. */
static bool is_protected_kind(const char *part, enum path_kind k)
{
	return k == PATH_FILE || (k == PATH_DIR && strcmp(part, ".git") != 0);
}

static void protect(struct planner *b, const char *part)
{
	char path[PATH_MAX], upper[PATH_MAX];

	if (!is_protected_kind(part, look_below(b, part, path)))
		return;
	strcpy(upper, path);
	*strrchr(upper, '/') = 0;
	if (strchr(part, '/'))
		add_checked(b, MOUNT_RW, RANK_WORK, upper);
	add_checked(b, MOUNT_RO, RANK_PROTECT, path);
}

static void add_workdir(struct planner *b)
{
	const char *why = file_plan_why_not_shared(b->r);

	if (b->r->no_workdir)
		return;
	if (!why) {
		add_checked(b, MOUNT_RW, RANK_WORK, b->r->cwd);
		for (size_t i = 0; i < file_n_protected_parts; i++)
			protect(b, file_protected_parts[i]);
		return;
	}
	if (asprintf(
		    &b->p->warning,
		    "%s %s: it is not shared with the sandbox; start in a project's folder, or name "
		    "folders with --rw",
		    b->r->cwd, why) < 0) {
		b->p->warning = NULL;
		b->p->failed = true;
	}
}

static void choose_workdir(struct planner *b)
{
	const char *w = b->r->cwd;

	if (file_plan_look(b->p, b->r->host, w) != PATH_DIR)
		w = b->p->home;
	b->p->workdir = w ? strdup(w) : NULL;
	if (!b->p->workdir)
		b->p->failed = true;
}

/* --- what the options name --- */

struct place {
	char source[PATH_MAX]; /* the host's, no link on the way */
	char dest[PATH_MAX];   /* inside */
};

/* A link that a sandbox may have made. */
struct foreign_link {
	const struct planner *b;
	char path[PATH_MAX]; /* empty: none */
};

static bool is_own_link(void *ctx, const char *link)
{
	struct foreign_link *f = ctx;
	const struct file_request *r = f->b->r;
	bool in_workdir = !f->b->p->warning && path_holds(r->cwd, link);

	if (!in_workdir && !(r->was_shared && r->was_shared(r->was_shared_ctx, link)))
		return true;
	strcpy(f->path, link);
	return false;
}

/*
 * What the option names must not be of a sandbox's choice. In one pass: what is looked at is what
 * is shared, though one may be at work.
 */
static int resolve_source(struct planner *b, const char *option, const char *written,
			  const char *tidy, char out[PATH_MAX])
{
	struct foreign_link f = {.b = b};

	if (path_resolve_each(b->r->host, tidy, out, is_own_link, &f))
		return 0;
	if (!f.path[0])
		return err_set(b->e, "%s %s: the path is too long or its links go round", option,
			       written);
	return err_set(
		b->e,
		"%s %s: %s is a link in a folder that a sandbox may write, so it leads where "
		"one wanted it to; name the place itself",
		option, written, f.path);
}

static int find_place(struct planner *b, const char *option, const char *written, struct place *at)
{
	char path[PATH_MAX], tidy[PATH_MAX];

	if (!*written)
		return err_set(b->e, "%s: the path is empty; name a file or folder", option);
	if (!path_join(b->r->cwd, written, path) || !path_tidy(path, tidy))
		return err_set(b->e, "%s %s: the path is too long", option, written);
	if (resolve_source(b, option, written, tidy, at->source))
		return -1;
	if (host_look(b, at->source) == PATH_NONE)
		return err_set(b->e,
			       "%s %s: no such file or folder; create it first or correct the path",
			       option, written);
	if (strstr(tidy, "/.."))
		strcpy(tidy, at->source);
	if (!file_view_resolve(b->p, b->r->host, tidy, at->dest))
		return err_set(b->e, "%s %s: the path is too long or its links go round", option,
			       written);
	return 0;
}

static int check_place(struct planner *b, const char *option, const char *written,
		       const struct place *at)
{
	for (size_t i = 0; i < sg_array_len(own_places); i++)
		if (strcmp(at->dest, own_places[i]) == 0 || strcmp(at->source, own_places[i]) == 0)
			return err_set(b->e, "%s %s: the sandbox has its own; name what lies in it",
				       option, written);
	if (path_holds("/proc", at->dest) || path_holds("/dev", at->dest) ||
	    path_holds("/proc", at->source) || path_holds("/dev", at->source))
		return err_set(b->e, "%s %s: devices and processes of the host are not shared",
			       option, written);
	for (const char *const *own = b->r->own; own && *own; own++)
		if (path_holds(*own, at->source))
			return err_set(b->e, "%s %s: sandgate's own files are not shared", option,
				       written);
	return 0;
}

struct named {
	const struct place *at;
	enum mount_kind kind;
	const char *cwd;
};

/* A later decision takes the place of an earlier one, and of the protections that it names. */
static bool named_drops(const struct mount *m, const void *ctx)
{
	const struct named *n = ctx;
	bool below_cwd = path_holds(n->cwd, n->at->dest);

	if (strcmp(m->dest, n->at->dest) == 0)
		return true;
	if (!path_holds(n->at->dest, m->dest))
		return false;
	if (m->kind == MOUNT_LINK || m->kind == MOUNT_DIR)
		return true;
	if (m->rank != RANK_WORK && m->rank != RANK_PROTECT)
		return false;
	return below_cwd && (n->kind == MOUNT_RO || strcmp(n->cwd, n->at->dest) != 0);
}

static int add_named(struct planner *b, const char *option, enum mount_kind kind,
		     const char *const *paths)
{
	struct place at;
	struct named n = {&at, kind, b->r->cwd};
	struct mount m = {.kind = kind,
			  .rank = RANK_NAMED,
			  .dest = at.dest,
			  .source = at.source,
			  .checked = true};

	for (; paths && *paths; paths++) {
		if (find_place(b, option, *paths, &at) || check_place(b, option, *paths, &at))
			return -1;
		file_plan_drop(b->p, named_drops, &n);
		file_plan_add(b->p, &m);
	}
	return 0;
}

static bool hidden_drops(const struct mount *m, const void *ctx)
{
	const char *dest = ctx;

	if (strcmp(m->dest, dest) == 0)
		return true;
	return path_holds(dest, m->dest) && m->rank != RANK_NAMED;
}

static void hide(struct planner *b, const char *dest)
{
	enum path_kind k = file_plan_look(b->p, b->r->host, dest);

	if (k == PATH_NONE)
		return;
	file_plan_drop(b->p, hidden_drops, dest);
	file_plan_cover(b->p, dest, k, RANK_HIDE);
}

static int add_hidden(struct planner *b)
{
	struct place at;

	for (const char *const *p = b->r->hide; p && *p; p++) {
		if (find_place(b, "--hide", *p, &at) || check_place(b, "--hide", *p, &at))
			return -1;
		hide(b, at.dest);
	}
	return 0;
}

/* --- files with contents of our own --- */

/* Something can be made there: it lies on no mount of the host's. */
static bool is_own_ground(const struct file_plan *p, const char *path)
{
	const struct mount *m = file_view_mount(p, path);

	return !m || !file_view_is_bind(m);
}

/* A link to a place in the host's /run is followed to the same place in the sandbox's own. */
static int add_text(struct planner *b, const char *path, const char *text, bool needed)
{
	char real[PATH_MAX];
	struct mount m = {.kind = MOUNT_TEXT,
			  .rank = RANK_MASK,
			  .mode = 0444,
			  .dest = real,
			  .source = (char *)text};

	if (!text)
		return 0;
	if (!file_view_resolve(b->p, b->r->host, path, real))
		return err_set(b->e, "%s: its links go round; make it a plain file", path);
	if (file_plan_look(b->p, b->r->host, real) == PATH_FILE || is_own_ground(b->p, real)) {
		file_plan_add(b->p, &m);
		return 0;
	}
	if (!needed)
		return 0;
	return err_set(b->e,
		       "%s: there is none to put the sandbox's own in place of; create an empty "
		       "file: touch %s",
		       path, path);
}

static int add_texts(struct planner *b)
{
	if (b->r->as_root && add_text(b, SANDBOX_APT_CONFIG, apt_config, true))
		return -1;
	if (add_text(b, "/etc/resolv.conf", b->r->resolv_conf, true))
		return -1;
	return add_text(b, "/etc/hosts", b->r->hosts, false);
}

/* --- files of the host's that stand in for others --- */

static void add_over(struct planner *b, const struct file_over *o)
{
	char real[PATH_MAX];
	struct mount m = {
		.kind = MOUNT_RO, .rank = RANK_MASK, .dest = real, .source = (char *)o->source};

	/* Distributions have links from one of these places to another. */
	if (!file_view_resolve(b->p, b->r->host, o->path, real) || file_plan_has(b->p, real))
		return;
	if (o->link)
		m.kind = MOUNT_LINK;
	m.checked = !o->link;
	if ((!o->link && file_plan_look(b->p, b->r->host, real) == PATH_FILE) ||
	    (o->within && file_opened_place(b->r, b->p, o->within, real)))
		file_plan_add(b->p, &m);
}

static void add_overs(struct planner *b)
{
	for (const struct file_over *o = b->r->over; o && o->path; o++)
		add_over(b, o);
}

/* --- the order --- */

static int by_place(const void *pa, const void *pb)
{
	const struct mount *a = pa, *b = pb;
	size_t da = path_depth(a->dest), db = path_depth(b->dest);
	int same = strcmp(a->dest, b->dest);

	if (da != db)
		return da < db ? -1 : 1;
	if (same)
		return same;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int build(struct planner *b)
{
	add_system(b);
	add_devices(b);
	add_home(b);
	add_masks(b);
	add_workdir(b);
	if (b->p->failed)
		return err_set(b->e, "out of memory");
	if (add_named(b, "--ro", MOUNT_RO, b->r->ro) || add_named(b, "--rw", MOUNT_RW, b->r->rw) ||
	    add_hidden(b) || add_texts(b))
		return -1;
	add_overs(b);
	if (file_hold_places(b->r, b->p, b->e))
		return -1;
	choose_workdir(b);
	if (b->p->failed)
		return err_set(b->e, "out of memory");
	if (b->p->n > MOUNTS_MAX)
		return err_set(b->e,
			       "more than %d mounts; name fewer files with --ro, --rw and --hide",
			       MOUNTS_MAX);
	qsort(b->p->mounts, b->p->n, sizeof(*b->p->mounts), by_place);
	return 0;
}

int file_plan_build(const struct file_request *r, struct file_plan *p, struct err *e)
{
	struct planner b = {r, p, e};

	*p = (struct file_plan){0};
	if (build(&b) == 0)
		return 0;
	file_plan_free(p);
	return -1;
}
