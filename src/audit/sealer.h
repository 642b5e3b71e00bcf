/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealer: the one process that writes a sandbox's logs and holds the key that signs them.
 *
 * It takes fixed records from the rings of gate and broker and entries from the supervisor, has no network, no
 * file but those of the logs, and parses nothing that the sandbox sent. This is the supervisor's
 * hold on it; sealer_main.c is the process.
 *
 * Entries that it has not said to have sealed are kept here, and go to the next sealer when it
 * dies.
 */
#ifndef SG_AUDIT_SEALER_H
#define SG_AUDIT_SEALER_H

#include <jansson.h>

#include "audit/record.h"
#include "policy/permission.h"

struct sealer_setup {
	const char *sandbox;
	int folder; /* the sandbox's folder of state: "audit/", "connections/" are made in it */
	int ring;   /* the file behind the gate's ring */
	int broker_ring;		   /* and behind the broker's; -1: none yet */
	int wake;			   /* eventfd, of both */
	const struct catalogue *catalogue; /* for remedies */
	bool lasting; /* false: the logs go with the sandbox, and nothing waits for the disk */
	bool tells;   /* of every checkpoint; else only of notes that are sealed */
	bool alone;   /* no gate and no broker lives yet: the totals may be put right */
	uint64_t connections_bytes; /* of the connection log in all; 0: the default */
	unsigned keep_segments;	    /* of the audit log; 0: all */
};

struct sealer {
	pid_t pid;   /* 0: none */
	int pidfd;   /* readable when it has ended */
	int control; /* readable when it has said something */
	bool fresh;  /* there is a new checkpoint; cleared by whoever has dealt with it */
	bool ready;
	struct err why;	      /* it could not start; else empty */
	json_t *notes;	      /* not yet sealed, the oldest first */
	size_t sent;	      /* of those, to the sealer that lives */
	json_int_t sealed;    /* how many it has said to have sealed */
	json_int_t last_note; /* the number of the latest */
	json_t *on;	      /* permissions, for the next sealer as well */
	bool full;	      /* it has said that it cannot write the audit log */
	int ring;	      /* the broker's, on its way to the sealer that lives; -1; borrowed */
};

#define SEALER_NONE ((struct sealer){.pidfd = -1, .control = -1, .ring = -1})

/* More than these wait for a disk, and the next is refused. */
enum { SEALER_NOTES_MAX = 4096, SEALER_START_MS = 10000 };

/*
 * Forks it, and does not wait: it opens the logs while the caller goes on. `s` is SEALER_NONE, or
 * one whose sealer was buried. The caller blocks all signals. 0 or -1 with the message.
 */
int sealer_start(struct sealer *s, const struct sealer_setup *setup, struct err *e) sg_must_check;

/* Until it is isolated and the logs are open. 0 or -1 with the message. */
int sealer_await_ready(struct sealer *s, struct err *e) sg_must_check;

/*
 * One entry for the audit log: {"action": ..., ...}, consumed. "time" and "note" are added, a
 * number by which the next sealer knows whether this one had written it. Does not wait, and may be
 * called while there is no sealer. 0 or -errno.
 */
int sealer_note(struct sealer *s, json_t *entry) sg_must_check;

/*
 * From now on there is a ring of the broker's as well, in the file `ring`, which stays open: for
 * the sealer that lives. The next one has it of its setup.
 */
void sealer_set_broker_ring(struct sealer *s, int ring);

/* The permissions that are on from now, for remedies; borrowed, may be NULL. */
void sealer_set_on(struct sealer *s, char *const *on);

/*
 * `control` is readable, or some time has passed: hears what is sealed, sends what could not be
 * sent.
 */
void sealer_hear(struct sealer *s);

/* Waits until all that came before is sealed and signed. 0 or -errno (ETIMEDOUT after `ms`). */
int sealer_sync(struct sealer *s, int ms) sg_must_check;

/* Takes what is in the ring, seals, signs, ends. Waits for it up to `ms`, then kills it. */
void sealer_stop(struct sealer *s, int ms);

/* It has ended by itself: gets rid of what is left but the notes, and says how in `how`. */
void sealer_bury(struct sealer *s, struct err *how);

#endif
