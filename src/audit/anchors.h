/* SPDX-License-Identifier: Apache-2.0 */
/* anchors: the checkpoints of one log, out of a file that they were kept in, maybe with those of others. */
#ifndef SG_AUDIT_ANCHORS_H
#define SG_AUDIT_ANCHORS_H

#include "audit/checkpoint.h"

struct anchors {
	struct checkpoint *at; /* sizes rise */
	size_t n;
};

/*
 * Takes those whose first line is `origin`. 0 or -errno with the message: -EINVAL: none
 * of this log is in it; -EBADMSG: one is not signed with `v`. anchors_free() in any case.
 */
int anchors_read(struct anchors *a, struct span text, const struct verifier *v, const char *origin,
		 struct err *e) sg_must_check;
void anchors_free(struct anchors *a);

/* Takes the next note off the front of a text of many, with blank lines between them. False at the end. */
bool anchors_next(struct span *text, struct span *note);

#endif
