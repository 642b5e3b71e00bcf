/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_recorder: the supervisor's hold on the process that writes a capture (capture/recorder.h):
 * its life, and what it says. Private to src/sandbox.
 */
#ifndef SG_SANDBOX_CAPTURE_RECORDER_H
#define SG_SANDBOX_CAPTURE_RECORDER_H

#include <jansson.h>

#include "capture/recorder.h"
#include "sandbox/process_link.h"

/* What the recorder has said of a segment, in the order of the segments. */
struct capture_said {
	json_int_t frames, dropped, octets;
	bool last;
	char why[24], more[256];
};

struct capture_recorder {
	struct process_link process;
	struct recorder_counters *counters; /* NULL: there was none yet */
	bool want;			    /* another file */
	struct capture_said said[2];
	size_t n_said;
};

#define CAPTURE_RECORDER_NONE \
	((struct capture_recorder){.process = {.what = "recorder", .pidfd = -1, .control = -1}})

/* Counters of its own for the next one, all 0. 0 or -1 with the message. */
int capture_recorder_make_counters(struct capture_recorder *r, struct err *e) sg_must_check;

/* A pair of sockets, for the notes of another process to it; they hold as many as the kernel lets. */
int capture_recorder_make_pair(int pair[2], struct err *e) sg_must_check;

/* Nothing has been said. */
void capture_recorder_forget(struct capture_recorder *r);

/*
 * Starts it: `setup` without control, keys, counters and supervisor, which are known here; its
 * descriptors stay the caller's. 0 when it writes, or -1 with the message.
 */
int capture_recorder_start(struct capture_recorder *r, struct recorder_setup *setup,
			   struct err *e) sg_must_check;

/* Its process has ended, which was not heard of yet. */
bool capture_recorder_has_ended(const struct capture_recorder *r);

/* It has ended: how, and in `said` what it has counted. */
void capture_recorder_bury(struct capture_recorder *r, struct capture_said *said, struct err *how);

/* Ends it without waiting, as process_link_leave() does, and takes the counters away. */
void capture_recorder_free(struct capture_recorder *r);

/* Whatever the recorder wrote there, as a number of JSON. */
json_int_t capture_recorder_number(uint64_t n);

#endif
