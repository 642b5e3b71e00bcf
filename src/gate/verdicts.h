/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdicts: what is decided, told to the recorder of a capture (capture/verdict_note.h).
 *
 * Never waits: a note that finds no room is counted and lost. Without a capture there is no
 * descriptor, and nothing is done.
 */
#ifndef SG_GATE_VERDICTS_H
#define SG_GATE_VERDICTS_H

#include "audit/record.h"
#include "capture/verdict_note.h"

struct verdicts {
	int fd; /* -1: nobody listens */
	uint32_t lost;
};

/* The packets that something was decided of, as the sandbox sees them. */
struct exchange {
	const struct endpoint *near; /* the sandbox's end; NULL: no packets of its own */
	const struct endpoint *far;  /* NULL: a port of the gate's own, told by `near` alone */
	uint8_t proto;		     /* IPPROTO_*; of an echo IPPROTO_ICMP, by either family */
	bool lookup;		     /* a question by UDP, with its id: */
	uint16_t dns_id;
};

/* What is told of it; NULL and empty texts are left out. */
struct told {
	enum verdict_kind kind;
	enum reason reason; /* VERDICT_DENY */
	const char *rule, *permission, *what;
	const struct name *name;
};

void verdicts_tell(struct verdicts *v, const struct exchange *x, const struct told *t);

/* Tells that one from here on, which is taken over; the one before is closed. -1: nobody. */
void verdicts_follow(struct verdicts *v, int fd);

extern const int verdicts_syscalls[];

#endif
