/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint: a log's size and root, signed: c2sp.org/tlog-checkpoint. Its text is three lines: the
 * origin, which is also the name of the key, the size, the root in base64. More lines are passed
 * over.
 */
#ifndef SG_AUDIT_CHECKPOINT_H
#define SG_AUDIT_CHECKPOINT_H

#include "audit/note.h"
#include "audit/tree.h"

struct checkpoint {
	char origin[NOTE_NAME_MAX + 1];
	uint64_t size;
	struct digest root;
};

/* From the text of a note. */
bool checkpoint_parse(struct span text, struct checkpoint *out);

/* From a note that `v` must have signed. 0 or -1 with the message. */
int checkpoint_open(struct span note, const struct verifier *v, struct checkpoint *out,
		    struct err *e) sg_must_check;

/* The note; NULL when it cannot be signed. v->name is its origin. The caller frees. */
char *checkpoint_sign(EVP_PKEY *key, const struct verifier *v, const struct tree *t);

/* Digits without a leading zero, up to 2^63 - 1. */
bool checkpoint_parse_number(struct span s, uint64_t *out);
/* Takes a line off the front, without its newline; false when there is none. */
bool checkpoint_take_line(struct span *s, struct span *line);

#endif
