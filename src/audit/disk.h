/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk: everything that a log does to its files, in one place.
 *
 * So that the order of what is written is seen here, and so that a test can end the process, or
 * fill the disk, between any two octets: built with DISK_FAULTS, every step asks disk_fault()
 * first. All names are in the folder `dir`, a descriptor; links are never followed. Errors are
 * -errno.
 */
#ifndef SG_AUDIT_DISK_H
#define SG_AUDIT_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/span.h"

enum disk_op {
	DISK_WRITE,
	DISK_SYNC,
	DISK_CUT,
	DISK_CREATE,
	DISK_RENAME,
	DISK_REMOVE,
};

struct disk_step {
	enum disk_op op;
	int fd;	     /* DISK_WRITE, DISK_SYNC, DISK_CUT; a folder's otherwise */
	uint64_t at; /* DISK_WRITE, DISK_CUT */
	size_t n;    /* octets to be written */
};

/* How many of the octets are written, and what happens then, if anything. */
struct disk_fate {
	size_t n;
	int error; /* errno, or 0 */
	bool dies;
};

#ifdef DISK_FAULTS
struct disk_fate disk_fault(const struct disk_step *step);
#endif

/* For reading and writing, mode 0600. With `fresh`: it must not be there. */
int disk_create(int dir, const char *name, bool fresh) sg_must_check;

/* A regular file, for reading. */
int disk_open(int dir, const char *name) sg_must_check;

/* All of it, or an error; then some may have been written. */
int disk_write_at(int fd, struct span what, uint64_t at) sg_must_check;
/* Up to n octets; how many there were. */
ssize_t disk_read_at(int fd, void *p, size_t n, uint64_t at) sg_must_check;
int disk_cut(int fd, uint64_t size) sg_must_check;
/* Data, and of the metadata what is needed to read them; for a folder, its names. */
int disk_sync(int fd) sg_must_check;

/*
 * The file has its old contents or these, whatever happens: NAME.new, fsync, rename, fsync of the
 * folder. Nothing waits for the disk when `fleeting`.
 */
int disk_replace(int dir, const char *name, struct span what, mode_t mode,
		 bool fleeting) sg_must_check;
int disk_remove(int dir, const char *name) sg_must_check;

/* The whole file, a NUL after it; -EFBIG beyond `max` octets. The caller frees. */
int disk_read(int dir, const char *name, size_t max, char **out, size_t *n) sg_must_check;

#endif
