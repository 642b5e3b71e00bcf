/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trusted_file: files whose words count, read only from hands that may give them.
 *
 * The file and the folder that holds it must belong to root or, where that is said, to the person,
 * and nobody else may be able to write them. What is not a regular file is never read, so that
 * neither a FIFO nor a device holds up who reads it; how much is read is bounded.
 */
#ifndef SG_SANDBOX_TRUSTED_FILE_H
#define SG_SANDBOX_TRUSTED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/span.h"

enum trusted_owner {
	OWNER_ROOT,
	OWNER_ROOT_OR_PERSON,
	OWNER_PERSON,
	/* Root, the person, or whoever "/" belongs to: in a user namespace root may have no name. */
	OWNER_SYSTEM,
};

/* NULL when the owner and the mode are those of a file to be trusted, else why not. */
const char *trusted_why_not(const struct stat *st, enum trusted_owner owner);

/*
 * A descriptor of a folder, its links followed; -ENOENT when there is none, -1 with the message.
 */
int trusted_folder_open(const char *path, enum trusted_owner owner, struct err *e);

struct trusted_text {
	char *p; /* allocated, and a NUL after it */
	size_t n;
};

struct trusted_request {
	int folder;	   /* AT_FDCWD, or a descriptor */
	const char *name;  /* in that folder */
	const char *shown; /* what messages call it */
	enum trusted_owner owner;
	bool follow; /* a link at its end; what it leads to is what must be trusted */
	size_t max;  /* octets */
};

/* 0; -ENOENT when there is no such file; -1 with the message. */
int trusted_file_read(const struct trusted_request *r, struct trusted_text *out,
		      struct err *e) sg_must_check;

static inline struct span trusted_span(const struct trusted_text *t)
{
	return span_of(t->p, t->n);
}

/*
 * Puts `text` in the place of the file: a new file beside it, fsync, rename, fsync of the folder.
 * A name of up to 200 octets. 0 or -errno.
 */
int trusted_file_replace(int folder, const char *name, struct span text, mode_t mode) sg_must_check;

#endif
