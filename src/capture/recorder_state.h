/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_state: the parts of a recorder.
 *
 *	recorder.c		frames, from the ring to the file; begin and end
 *	recorder_sources.c	what gate and broker tell
 *	recorder_control.c	the supervisor's requests
 *	recorder_confine.c	what the process gives up
 *
 * Private to these.
 */
#ifndef SG_CAPTURE_RECORDER_STATE_H
#define SG_CAPTURE_RECORDER_STATE_H

#include "base/err.h"
#include "capture/capture_file.h"
#include "capture/comment.h"
#include "capture/packet_ring.h"
#include "capture/recorder.h"
#include "confine/confine.h"
#include "io/loop.h"
#include "io/requests.h"

/*
 * How long a frame that asks for a decision waits for it, counted from when the kernel handed its
 * block over; not when more blocks wait.
 */
enum { RECORDER_PATIENCE_MS = 50 };

/* With keys each block is written so much later, so that they stand before what they open. */
enum { RECORDER_KEYS_MS = 250 };

struct recorder {
	const struct recorder_setup *setup;
	struct recorder_counters *counters;
	struct loop *loop;
	struct requests *control;
	struct packet_ring *ring;
	struct watch frames, verdicts, keys;
	struct timer patience;
	struct commentator commentator;
	struct capture_file file;
	int next_file; /* -1: not here yet */
	bool asked;    /* for it */
	uint32_t segment;
	uint64_t received, dropped; /* of this segment */
	uint64_t lost;		    /* not yet told beside a packet */
	uint64_t notes_lost_before; /* by gates before this one */
	uint64_t notes_lost;
	bool in_block; /* one is being read, since: */
	mono_t block_at;
	bool stopping; /* frames after stop_at are not of the capture any more */
	int64_t stop_at;
	mono_t stop_by;
	bool ended;
};

/* Descriptors after recorder_confine_early(). */
enum {
	RECORDER_CONTROL = CONFINE_KEPT_FD,
	RECORDER_SOCKET,
	RECORDER_FILE,
	RECORDER_VERDICTS,
	RECORDER_KEYS
};

int recorder_confine_early(const struct recorder_setup *s, struct err *e) sg_must_check;
int recorder_confine_fully(struct err *e) sg_must_check;

/* Watches a socket of the gate's, or the broker's; one before it is closed. -1: without memory. */
int recorder_follow_gate(struct recorder *r, int fd) sg_must_check;
int recorder_follow_broker(struct recorder *r, int fd) sg_must_check;
/* All that has been told by now: before frames are looked at. */
void recorder_hear(struct recorder *r);

bool recorder_control_begin(struct recorder *r, int fd);

/* Ends the capture: `why` in a word (docs/protocol.md), and more for a person, or NULL. */
void recorder_end(struct recorder *r, const char *why, const char *more);

/* Frames until now, and none that comes later. */
void recorder_stop(struct recorder *r);

int64_t recorder_wall_ns(void);

#endif
