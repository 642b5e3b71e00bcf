/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anchors: the checkpoints of one log, out of a file that they were kept in, maybe with those of
 * others.
 */
#ifndef SG_AUDIT_ANCHORS_H
#define SG_AUDIT_ANCHORS_H

#include "audit/checkpoint.h"

struct anchors {
	struct checkpoint *at; /* sizes rise */
	size_t n;
};

/*
 * Takes those whose first line is `origin`; one that was cut short is passed over. 0 or -errno with the message: -EINVAL: none
 * of this log is in it; -EBADMSG: one is not signed with `v`. anchors_free() in any case.
 */
int anchors_read(struct anchors *a, struct span text, const struct verifier *v, const char *origin,
		 struct err *e) sg_must_check;
void anchors_free(struct anchors *a);

/*
 * Takes the next note off the front of a text of many, with blank lines between them, or lines as
 * anchors_print_line() makes them, behind whatever a log puts before them. A note that was a line
 * is put together in `room`. False at the end.
 */
bool anchors_next(struct span *text, char room[NOTE_MAX], struct span *note);

/*
 * A checkpoint in one line of ASCII, for syslog: "audit checkpoint ORIGIN SIZE ROOT SIGNATURE", of
 * the signature that has the origin's name. False when it is none, or does not fit.
 */
enum { ANCHORS_LINE_MAX = 900 };
bool anchors_print_line(struct span note, char out[ANCHORS_LINE_MAX]);

#endif
