/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planted: files of the working directory that run by themselves outside and that the command made.
 *
 * What is there at the start is read-only inside (file_tables.h); what is not cannot be, without
 * making it on the person's disk, nor can a link, which is not followed. So it is told at the end.
 */
#ifndef SG_SANDBOX_PLANTED_H
#define SG_SANDBOX_PLANTED_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

enum { PLANTED_PARTS_MAX = 128 };

struct planted {
	int folder; /* -1: nothing is watched */
	bool absent[PLANTED_PARTS_MAX];
	struct {
		ino_t number; /* 0: not a link */
		struct timespec changed;
	} link[PLANTED_PARTS_MAX];
};

/* Notes which of the parts are not there, and which are links. */
void planted_begin(struct planted *p, const char *workdir);

/* A line for the person about those that are there now, or NULL; the caller frees. Closes p. */
char *planted_end(struct planted *p);

#endif
