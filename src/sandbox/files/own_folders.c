/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/own_folders.h"

#include <string.h>

#include "sandbox/path.h"
#include "sandbox/settings/settings.h"
#include "sandbox/state_dir.h"

static void add(struct own_folders *o, size_t *n, const char *path)
{
	if (!path_resolve(&host_tree, path, o->path[*n]))
		return;
	strcpy(o->way[*n], path);
	o->list[*n] = o->path[*n];
	o->ways[*n] = o->way[*n];
	++*n;
}

void own_folders_find(const char *registry, struct own_folders *out)
{
	char path[PATH_MAX];
	struct err none;
	size_t n = 0;

	*out = (struct own_folders){0};
	if (registry)
		add(out, &n, registry);
	if (state_dir_path(path, &none) == 0)
		add(out, &n, path);
	if (config_dir_path(path, &none) == 0)
		add(out, &n, path);
}
