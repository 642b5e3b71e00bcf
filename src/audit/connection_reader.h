/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection_reader: the lines of a connection log, in order, across its files, while it is being
 * written.
 */
#ifndef SG_AUDIT_CONNECTION_READER_H
#define SG_AUDIT_CONNECTION_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/span.h"

struct connection_reader {
	int dir, fd;   /* `dir` is borrowed; fd -1: no file is open */
	uint64_t file; /* that is open, or was last: the number of its first line */
	bool began;    /* a file was opened */
	char *room;
	uint64_t at;	   /* where in the file it begins */
	size_t start, end; /* what of it is read ahead */
};

/*
 * From the last file that begins before `since` (as entries print a time; NULL: from the oldest). 0
 * or -errno.
 */
int connection_reader_open(struct connection_reader *r, int dir, const char *since) sg_must_check;
void connection_reader_close(struct connection_reader *r);

/*
 * The next whole line without its newline, valid until the next call: 1; 0 when there is none yet;
 * -errno. What a full disk or a power cut left of a line is not given.
 */
int connection_reader_next(struct connection_reader *r, struct span *line) sg_must_check;

#endif
