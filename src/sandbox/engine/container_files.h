/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_files: what a container engine is given of ours, in the folder "podman" of a sandbox in
 * the registry: the hook, and the files that the container sees as /etc/resolv.conf and /etc/hosts.
 */
#ifndef SG_SANDBOX_CONTAINER_FILES_H
#define SG_SANDBOX_CONTAINER_FILES_H

#include <limits.h>

#include "base/err.h"

struct container_files {
	char folder[PATH_MAX];
	char resolv_conf[PATH_MAX];
	char hosts[PATH_MAX];
};

/*
 * Makes them in `dir`, the folder of the sandbox, whose path is `path`. 0, or -1 with the message.
 */
int container_files_make(int dir, const char *path, const char *resolv_conf, const char *hosts,
			 struct container_files *out, struct err *e) sg_must_check;

/* Takes them out of `dir`, if they are there. */
void container_files_remove(int dir);

#endif
