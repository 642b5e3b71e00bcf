/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_note: what the gate tells the recorder of one exchange, as it decides: one message of a
 * SOCK_SEQPACKET, of fixed size.
 *
 * The gate never waits for it: what finds no room is lost, and counted in the next. The recorder
 * trusts none of it: the gate reads the octets of the sandbox.
 */
#ifndef SG_CAPTURE_VERDICT_NOTE_H
#define SG_CAPTURE_VERDICT_NOTE_H

#include <stdbool.h>

#include "capture/tuple.h"

enum verdict_kind {
	VERDICT_PENDING, /* the address is admitted, the name inside is still to be judged */
	VERDICT_ALLOW,
	VERDICT_DENY,
	VERDICT_GATE, /* the gate itself is the far end */
	VERDICT_KINDS,
};

enum { VERDICT_TEXT_MAX = 224 };

struct verdict_note {
	struct tuple tuple;
	int64_t time_ns;	     /* of the wall clock, since 1970: when it was decided */
	uint32_t lost;		     /* notes of this gate that found no room, in all */
	uint8_t kind;		     /* enum verdict_kind */
	char text[VERDICT_TEXT_MAX]; /* rule or reason; printable ASCII, NUL-terminated */
};

/* Is it one, whatever sent it? */
bool verdict_note_valid(const struct verdict_note *n);

#endif
