/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_folders: the folders of sandgate's own, which no sandbox sees: those of the control sockets,
 * of what outlives a run (state_dir.h), and of the settings.
 */
#ifndef SG_SANDBOX_OWN_FOLDERS_H
#define SG_SANDBOX_OWN_FOLDERS_H

#include <limits.h>

enum { OWN_FOLDERS = 3 };

struct own_folders {
	char path[OWN_FOLDERS][PATH_MAX];
	const char *list[OWN_FOLDERS + 1]; /* into `path`, NULL-terminated */
	char way[OWN_FOLDERS][PATH_MAX];   /* the same as they are looked up, with links */
	const char *ways[OWN_FOLDERS + 1];
};

/*
 * Without links, also of those that are not there yet. `registry` is the folder of the control
 * sockets, or NULL. A person without a home has none of the others.
 */
void own_folders_find(const char *registry, struct own_folders *out);

#endif
