/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_link: the supervisor's hold on a capture: its recorder (capture_recorder.h), its files
 * (capture_segments.h), and what the audit log has of them. Private to src/sandbox.
 */
#ifndef SG_SANDBOX_CAPTURE_LINK_H
#define SG_SANDBOX_CAPTURE_LINK_H

#include <jansson.h>
#include <sys/types.h>

#include "sandbox/log/capture_recorder.h"
#include "sandbox/log/capture_request.h"
#include "sandbox/log/capture_segments.h"

struct supervisor;

enum {
	CAPTURE_END_MS = 30000, /* at the end of a sandbox: for the last frames, and the hashes */
	CAPTURE_HANG_MS =
		5000, /* and then, when the recorder hung: for the hashes of what it wrote */
};

struct capture_link {
	struct capture_recorder recorder;
	struct capture_segments segments;
	uint64_t max_mb;
	uint64_t files;
	bool keys;
	uid_t who;	/* asked for it */
	char why[24];	/* it has ended, or was asked to: in a word */
	char more[256]; /* and for a person, or empty */
	int to_gate;	/* the end of a socket that the next gate gets, or -1 */
	int events;	/* epoll of all that it waits for; -1: there was no capture yet */
};

#define CAPTURE_LINK_NONE                                         \
	((struct capture_link){.recorder = CAPTURE_RECORDER_NONE, \
			       .segments = CAPTURE_SEGMENTS_NONE, \
			       .to_gate = -1,                     \
			       .events = -1})

static inline bool capture_link_is_on(const struct capture_link *c)
{
	return c->recorder.process.pid > 0;
}

/*
 * Before the airlock is asked for: the file is made, so that what is wrong with it is said before
 * anything runs. `who` asked for it. 0, also when nothing was asked for, or -1 with the message.
 */
int capture_link_prepare(struct supervisor *s, const struct capture_request *r, uid_t who,
			 struct err *e) sg_must_check;

/*
 * Starts the recorder on the airlock's packet socket, before a gate is started. 0, also when nothing
 * was prepared; or -1 with the message.
 */
int capture_link_begin(struct supervisor *s, struct err *e) sg_must_check;

/* The same while the gate runs, of what was prepared, on a packet socket of its own. */
int capture_link_begin_live(struct supervisor *s, struct err *e) sg_must_check;

/* What was prepared, and not begun, was never asked for. */
void capture_link_forget(struct capture_link *c);

/* The end of a socket for a gate that is being started, the caller's to close; -1: no capture. */
int capture_link_for_gate(struct supervisor *s);

/* A broker has been started: it is to hand out keys, when those were asked for. */
void capture_link_pair_broker(struct supervisor *s);

/* `events` is readable. */
void capture_link_serve(struct supervisor *s);

/*
 * Tells the recorder of one that is on to end; why, in a word, and for a person or "". The first
 * reason stands.
 */
void capture_link_stop(struct capture_link *c, const char *why, const char *more);

/* Nothing of one is left, but its entry of the end may still be to come. */
bool capture_link_is_over(const struct capture_link *c);

/* The sandbox has ended: waits until the last segment is in the audit log. */
void capture_link_close(struct supervisor *s);

#endif
