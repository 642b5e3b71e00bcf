/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_system: what a sandbox sees of the host's files, as a list of mounts.
 *
 * Theory of operation. The root is empty; only what a row of a table, the working directory, or
 * --ro/--rw names is put into it. /tmp, /run, /var, /dev, /proc and HOME are the sandbox's own, so
 * that no socket of the host is to be found by path. The plan is pure: options and a view of the
 * host's files in, mounts out, in the order in which they must be made: upper folders before lower
 * ones, and at the same place the later decision over the earlier (`rank`).
 *
 * The working directory is hostile: an earlier sandbox may have written it. No link in it is
 * followed when its parts are protected, and a mount marked `checked` is compared with what the
 * supervisor saw before the command is let go.
 */
#ifndef SG_SANDBOX_FILE_SYSTEM_H
#define SG_SANDBOX_FILE_SYSTEM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/path.h"

enum mount_kind {
	MOUNT_RO,     /* the host's `source`, read-only */
	MOUNT_RW,     /* the host's `source` */
	MOUNT_TMPFS,  /* an empty folder of the sandbox's own */
	MOUNT_DIR,    /* a folder within one */
	MOUNT_LINK,   /* a symbolic link that holds `source` */
	MOUNT_TEXT,   /* a read-only file that holds `source` */
	MOUNT_BLANK,  /* over a file: it cannot be opened */
	MOUNT_DEVICE, /* the host's device `source` */
	MOUNT_DEV,
	MOUNT_PROC,
};

enum mount_rank { RANK_BASE, RANK_HOME, RANK_MASK, RANK_WORK, RANK_PROTECT, RANK_NAMED, RANK_HIDE };

struct mount {
	enum mount_kind kind;
	enum mount_rank rank;
	unsigned mode; /* MOUNT_TMPFS, MOUNT_DIR, MOUNT_TEXT */
	char *dest;    /* absolute, no link on the way */
	char *source;  /* by kind, or NULL */
	bool checked;  /* dest must be the very file or folder that source is */
};

struct file_plan {
	struct mount *mounts;
	size_t n, cap;
	char *home;    /* HOME inside */
	char *workdir; /* where the command starts */
	char *warning; /* what the person should know, or NULL */
	bool failed;   /* out of memory on the way */
};

/*
 * The host's file or folder `source`, which may change, over the file that the sandbox sees at
 * `path`; where none is, it is put there if there is the folder `within`.
 */
struct file_over {
	const char *path; /* NULL ends a list */
	const char *source;
	const char *within; /* above path; or NULL */
	bool link;	    /* no mount: where no file is, a link to `source`, which is inside */
};

struct file_request {
	const struct tree *host;
	const char *cwd;       /* absolute, as getcwd gives it */
	const char *home;      /* the person's, as HOME says; may be NULL or nonsense */
	const char *kept_home; /* the host's folder that is HOME inside; NULL: an empty one */
	bool as_root;	       /* --as-root */
	bool host_root;	       /* the person is root outside */
	const char *const *rw; /* as written; NULL-terminated or NULL */
	const char *const *ro;
	const char *const *hide;
	const char *const *devices; /* absolute paths in /dev, those that are there; or NULL */
	bool no_workdir;	    /* the working directory is not shared */
	const char *const *masked;  /* absolute paths under /etc that are not for everyone's eyes */
	const char *const *own; /* folders of sandgate's own, without links: never seen inside */
	const char *const *own_ways; /* the same as they are looked up, with links; or NULL */
	/* May a sandbox have written the folder that `path` lies in? NULL: the working directory
	 * alone. */
	bool (*was_shared)(const void *ctx, const char *path);
	const void *was_shared_ctx;
	const char *resolv_conf; /* contents */
	const char *hosts;
	const struct file_over *over; /* or NULL */
};

/* Where sandgate's own files are inside. */
#define SANDBOX_FILES	   "/run/sandbox-files"
#define SANDBOX_APT_CONFIG SANDBOX_FILES "/apt.conf"

/* 0, or -1 with the message and nothing to free. */
int file_plan_build(const struct file_request *r, struct file_plan *p, struct err *e) sg_must_check;
void file_plan_free(struct file_plan *p);

/* Why the working directory is not shared with the sandbox, or NULL when it is. */
const char *file_plan_why_not_shared(const struct file_request *r);

/* What the sandbox will see at a path, links followed. `host` is the request's. */
enum path_kind file_plan_look(const struct file_plan *p, const struct tree *host, const char *path);

#endif
