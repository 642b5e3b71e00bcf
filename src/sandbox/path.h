/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path: file names as text, and what a tree of files looks like through a `struct tree`.
 *
 * The tree is the host's, or the one that a sandbox will see, or a table in a test: whoever plans
 * mounts asks it and does no I/O.
 */
#ifndef SG_SANDBOX_PATH_H
#define SG_SANDBOX_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum path_kind { PATH_NONE, PATH_FILE, PATH_DIR, PATH_LINK, PATH_OTHER };

struct tree {
	const void *ctx;
	/* Of the path itself, a link at its end not followed. */
	enum path_kind (*kind)(const void *ctx, const char *path);
	/* What the link holds, NUL-terminated; false when it cannot be read or does not fit. */
	bool (*link)(const void *ctx, const char *path, char *out, size_t cap);
	/*
	 * The names in a folder, until fn says false; false then, and when it cannot be read. NULL:
	 * there is no way to ask.
	 */
	bool (*each)(const void *ctx, const char *path, bool (*fn)(void *arg, const char *name),
		     void *arg);
};

/* The host's files. */
extern const struct tree host_tree;

/* a is b or a folder above it; both absolute, without a slash at the end (but "/"). */
bool path_holds(const char *a, const char *b);

/* The number of parts: 0 for "/". */
size_t path_depth(const char *path);

/* "base/rest", or rest itself when it is absolute; false when it does not fit. */
bool path_join(const char *base, const char *rest, char out[PATH_MAX]);

/*
 * Takes out "//", "/./" and the slash at the end of an absolute path. ".." stays: what it means
 * depends on links. False when it does not fit.
 */
bool path_tidy(const char *path, char out[PATH_MAX]);

/*
 * Follows every link of an absolute path, also of one whose last parts do not exist: these are kept
 * as written. False for more than 40 links or a result that does not fit.
 */
bool path_resolve(const struct tree *t, const char *path, char out[PATH_MAX]);

/*
 * The same, and `visit` is told of each link on the way, by its own path without links. It ends the
 * search by false, and false is returned.
 */
bool path_resolve_each(const struct tree *t, const char *path, char out[PATH_MAX],
		       bool (*visit)(void *ctx, const char *link), void *ctx);

#endif
