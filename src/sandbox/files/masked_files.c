/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/masked_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "sandbox/person.h"

enum { DEPTH_MAX = 16 };

struct walk {
	FILE *found; /* paths, each with its NUL */
	size_t n;
	char path[PATH_MAX];
	bool failed;
};

/*
 * Root has no capability in the sandbox: it reads as the owner, by its groups, or as others do. An
 * empty file has nothing to hide.
 */
static bool is_roots_only(const struct stat *st)
{
	bool folder = S_ISDIR(st->st_mode);
	mode_t others = folder ? S_IROTH | S_IXOTH : S_IROTH;

	if ((st->st_mode & others) == others || (!folder && st->st_size == 0))
		return false;
	return st->st_uid == 0 || st->st_gid == 0 || st->st_gid == getegid();
}

static void walk_folder(struct walk *w, int parent, const char *name, size_t used, unsigned depth);

/* Links are not followed: what they point to in /etc is met by itself. */
static void visit(struct walk *w, int folder, const char *name, size_t used, unsigned depth)
{
	struct stat st;
	size_t n = strlen(name);

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return;
	if (used + 1 + n >= sizeof(w->path)) {
		w->failed = true;
		return;
	}
	w->path[used] = '/';
	memcpy(w->path + used + 1, name, n + 1);
	/* What lies deeper than anyone looks is hidden whole. */
	if (is_roots_only(&st) || (S_ISDIR(st.st_mode) && depth == DEPTH_MAX)) {
		fwrite(w->path, 1, used + 1 + n + 1, w->found);
		w->n++;
	} else if (S_ISDIR(st.st_mode)) {
		walk_folder(w, folder, name, used + 1 + n, depth);
	}
}

/* Most of /etc is links (certificates, alternatives), which the folder itself tells apart. */
static bool may_be_masked(const struct dirent *entry)
{
	return entry->d_type != DT_LNK && strcmp(entry->d_name, ".") != 0 &&
	       strcmp(entry->d_name, "..") != 0;
}

static void walk_folder(struct walk *w, int parent, const char *name, size_t used, unsigned depth)
{
	DIR *d = folder_list(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	const struct dirent *entry;

	/* A folder that is gone or cannot be read shows the sandbox nothing either. */
	if (!d)
		return;
	while (!w->failed && (entry = readdir(d)))
		if (may_be_masked(entry))
			visit(w, dirfd(d), entry->d_name, used, depth + 1);
	closedir(d);
}

static int walk_etc(struct walk *w, char **store)
{
	size_t size = 0;

	w->found = open_memstream(store, &size);
	if (!w->found)
		return -1;
	strcpy(w->path, "/etc");
	if (person_is_root())
		walk_folder(w, AT_FDCWD, w->path, strlen(w->path), 0);
	if (fclose(w->found) != 0)
		return -1;
	errno = ENAMETOOLONG;
	return w->failed ? -1 : 0;
}

const char **masked_files_list(char **store)
{
	struct walk w = {0};
	const char **list;
	char *at;

	*store = NULL;
	if (walk_etc(&w, store))
		return NULL;
	list = calloc(w.n + 1, sizeof(*list));
	at = *store;
	for (size_t i = 0; list && i < w.n; i++) {
		list[i] = at;
		at += strlen(at) + 1;
	}
	return list;
}
