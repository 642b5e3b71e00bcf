/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_link: the supervisor's hold on a capture: its recorder (capture/recorder.h), the files,
 * and what the audit log has of them. Private to src/sandbox.
 */
#ifndef SG_SANDBOX_CAPTURE_LINK_H
#define SG_SANDBOX_CAPTURE_LINK_H

#include <jansson.h>
#include <sys/socket.h>

#include "capture/recorder.h"
#include "sandbox/log/capture_request.h"
#include "sandbox/log/pcap_place.h"
#include "sandbox/process_link.h"
#include "sandbox/log/segment_hash.h"

struct supervisor;

enum {
	CAPTURE_CLOSING_MAX = 4,
	CAPTURE_END_MS = 30000, /* at the end of a sandbox: for the last frames, and the hashes */
};

/* A file that the recorder has, or had. */
struct capture_segment {
	int fd; /* -1: none */
	unsigned number;
	char path[PATH_MAX];
	json_int_t frames, dropped, octets; /* as the recorder says */
	struct segment_hash hash;
};

/* What the recorder has said of a segment, in the order of the segments. */
struct capture_said {
	json_int_t frames, dropped, octets;
	bool last;
	char why[24], more[256];
};

struct capture_link {
	struct process_link recorder;
	struct recorder_counters *counters; /* NULL: there was none yet */
	struct pcap_place place;
	uint64_t max_mb;
	uint64_t files;
	bool keys;
	uid_t who;	/* asked for it */
	bool want;	/* another file */
	char why[24];	/* it has ended, or was asked to: in a word */
	char more[256]; /* and for a person, or empty */
	unsigned made;	/* segments */
	int to_gate;	/* the end of a socket that the next gate gets, or -1 */
	struct capture_segment now, next;
	struct capture_segment closing[CAPTURE_CLOSING_MAX];
	struct capture_said said[2];
	size_t n_said;
	int events; /* epoll of all that it waits for; -1: there was no capture yet */
};

#define CAPTURE_SEGMENT_NONE ((struct capture_segment){.fd = -1, .hash = {.pipe = -1}})
#define CAPTURE_LINK_NONE                                                                    \
	((struct capture_link){.recorder = {.what = "recorder", .pidfd = -1, .control = -1}, \
			       .place = {.folder = -1},                                      \
			       .to_gate = -1,                                                \
			       .events = -1,                                                 \
			       .now = CAPTURE_SEGMENT_NONE,                                  \
			       .next = CAPTURE_SEGMENT_NONE,                                 \
			       .closing = {CAPTURE_SEGMENT_NONE, CAPTURE_SEGMENT_NONE,       \
					   CAPTURE_SEGMENT_NONE, CAPTURE_SEGMENT_NONE}})

static inline bool capture_link_is_on(const struct capture_link *c)
{
	return c->recorder.pid > 0;
}

/*
 * Before the airlock is asked for: the file is made, so that what is wrong with it is said before
 * anything runs. `who` asked for it. 0, also when nothing was asked for, or -1 with the message.
 */
int capture_link_prepare(struct supervisor *s, const struct capture_request *r, uid_t who,
			 struct err *e) sg_must_check;

/*
 * Starts the recorder on the airlock's packet socket, before a gate is started. 0, also when nothing was prepared; or -1 with the message.
 */
int capture_link_begin(struct supervisor *s, struct err *e) sg_must_check;

/* The end of a socket for a gate that is being started, the caller's to close; -1: no capture. */
int capture_link_for_gate(struct supervisor *s);

/* A broker has been started: it is to hand out keys, when those were asked for. */
void capture_link_pair_broker(struct supervisor *s);

/* `events` is readable. */
void capture_link_serve(struct supervisor *s);

/* The answers to {"op":"pcap",...} and {"op":"pcap-stop"}. */
json_t *capture_link_answer_start(struct supervisor *s, const json_t *request,
				  const struct ucred *who);
json_t *capture_link_answer_stop(struct supervisor *s);

/* For `egress`: the numbers, or NULL where there never was one. */
json_t *capture_link_report(const struct supervisor *s);

/* The sandbox has ended: waits until the last segment is in the audit log. */
void capture_link_close(struct supervisor *s);

#endif
