/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/masked_files.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS_OPEN = 16 };

/* nftw has no context: for the length of one walk, on the one thread there is. */
static FILE *found;
static size_t n_found;

/* Without its capabilities root reads as any other user does; an empty file has nothing to hide. */
static bool is_worth_it(const struct stat *st)
{
	if (S_ISREG(st->st_mode) && st->st_size == 0)
		return false;
	return st->st_uid == 0 || st->st_gid == 0 || group_member(st->st_gid);
}

/* Links are not followed: what they point to in /etc is met by itself. */
static int visit(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	bool folder = kind == FTW_D || kind == FTW_DNR;
	mode_t needed = folder ? S_IROTH | S_IXOTH : S_IROTH;

	if (kind == FTW_SL || kind == FTW_NS || (!folder && !S_ISREG(st->st_mode)))
		return FTW_CONTINUE;
	if ((st->st_mode & needed) == needed || !is_worth_it(st))
		return FTW_CONTINUE;
	fwrite(path, 1, strlen(path) + 1, found);
	n_found++;
	return folder ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

static int walk(char **store)
{
	size_t size = 0;
	int rc = 0;

	n_found = 0;
	found = open_memstream(store, &size);
	if (!found)
		return -1;
	if (geteuid() == 0 && access("/etc", R_OK) == 0)
		rc = nftw("/etc", visit, FOLDERS_OPEN, FTW_PHYS | FTW_ACTIONRETVAL);
	if (fclose(found) != 0)
		rc = -1;
	found = NULL;
	return rc;
}

const char **masked_files_list(char **store)
{
	const char **list;
	char *at;

	*store = NULL;
	if (walk(store))
		return NULL;
	list = calloc(n_found + 1, sizeof(*list));
	at = *store;
	for (size_t i = 0; list && i < n_found; i++) {
		list[i] = at;
		at += strlen(at) + 1;
	}
	return list;
}
