/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_site: the files of a container, for the process that enters its mount namespace and mounts there
 * (trust_place.h). Nothing is mounted upon a mount that others share, since it would show there.
 */
#ifndef SG_SANDBOX_TRUST_SITE_H
#define SG_SANDBOX_TRUST_SITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct trust_site {
	int mounts;	  /* the namespace */
	int table;	  /* its mountinfo, as the process sees it */
	int root;	  /* O_PATH; -1: still to be opened, in the namespace */
	int descriptors;  /* the placer's own, as a folder of the caller's /proc */
	bool of_host;	  /* the root is that of the caller: nothing is to be made there */
	bool user_xattrs; /* the placer is not privileged over the machine */
};

#define TRUST_SITE_NONE \
	((struct trust_site){.mounts = -1, .table = -1, .root = -1, .descriptors = -1})

/* Below the root, O_PATH, with links that cannot lead out of it (in_root.h). -1 with errno. */
int trust_site_open(const struct trust_site *s, const char *path, uint64_t flags, uint64_t resolve);

/* Of the mount that it lies on; 0 or -errno. */
int trust_site_mount_id(int fd, uint64_t *out);

/* Its mountinfo (proc_pid_mountinfo(5)), from the beginning; NULL with errno. */
FILE *trust_site_table(const struct trust_site *s);

/* Moves the detached mount `tree` upon `at`, which the message calls `path`. 0 or -1. */
int trust_site_put(const struct trust_site *s, int tree, int at, const char *path,
		   struct err *e) sg_must_check;

/* Takes away the mount whose root this is; it lives on where it is in use. 0 or -errno. */
int trust_site_unmount(const struct trust_site *s, int at);

#endif
