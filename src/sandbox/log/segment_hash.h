/* SPDX-License-Identifier: Apache-2.0 */
/* segment_hash: the SHA-256 of a file that is whole, made by a child: the supervisor does not wait. */
#ifndef SG_SANDBOX_SEGMENT_HASH_H
#define SG_SANDBOX_SEGMENT_HASH_H

#include <sys/types.h>

#include "audit/digest.h"
#include "base/err.h"

struct segment_hash {
	pid_t child; /* 0: none */
	int pipe;    /* readable when it is done */
};

#define SEGMENT_HASH_NONE ((struct segment_hash){.pipe = -1})

enum { SEGMENT_HASH_TEXT = 2 * DIGEST_OCTETS };

/* `fd` is readable and stays the caller's. First the file is made durable. 0 or -1 with the message. */
int segment_hash_begin(struct segment_hash *h, int fd, struct err *e) sg_must_check;

/* When `pipe` is readable, or it is to be waited for. In hexadecimal; false: it failed. */
bool segment_hash_end(struct segment_hash *h, char out[SEGMENT_HASH_TEXT + 1]);

#endif
