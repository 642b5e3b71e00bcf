/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_link: the supervisor's hold on its process `frames`, which carries Ethernet frames between
 * a virtual machine monitor's UNIX socket and the tap device of an airlock (frames/frames.h).
 *
 * The supervisor makes the socket file, keeps its descriptor and the tap's, and takes the file away
 * at the end; so one process after the other can carry the frames, and the machine loses no more than
 * what was under way. What they count outlives each of them.
 */
#ifndef SG_SANDBOX_FRAMES_LINK_H
#define SG_SANDBOX_FRAMES_LINK_H

#include <sys/stat.h>

#include "frames/frames.h"
#include "sandbox/process_link.h"

/* The socket that a monitor connects to, or sends to. */
struct frames_socket {
	enum frames_kind kind;
	int fd;		  /* listening, or bound; non-blocking; -1: none */
	const char *path; /* borrowed, as it was given */
	dev_t dev;	  /* of the file: only that one is taken away */
	ino_t ino;
};

#define FRAMES_SOCKET_NONE ((struct frames_socket){.fd = -1})

/*
 * Makes it, readable and writable by its owner only. A socket file that nobody holds any more is
 * replaced, anything else at that path is an error. 0, or -1 with the message and nothing made.
 */
int frames_socket_open(struct frames_socket *s, enum frames_kind kind, const char *path,
		       struct err *e) sg_must_check;
/* Closes it and takes the file away, unless another one is there by now. */
void frames_socket_close(struct frames_socket *s);

struct frames_link {
	struct process_link process;
	struct frames_counters *counters; /* shared with all its processes; NULL before the first */
};

#define FRAMES_LINK_NONE \
	((struct frames_link){.process = {.what = "frames process", .pidfd = -1, .control = -1}})

/*
 * Forks it and waits until it is confined and ready. `counters` of s is made here; the descriptors
 * stay the caller's. The caller blocks all signals; `f` is FRAMES_LINK_NONE before the first start.
 * When process.pidfd becomes readable it has ended: process_link_bury(), then start it again with
 * the same setup. It ends with the supervisor, or by process_link_kill(). 0, or -1 with the message
 * and no process.
 */
int frames_link_start(struct frames_link *f, const struct frames_setup *s,
		      struct err *e) sg_must_check;

/*
 * To be called when process.control is readable: fills `said` with what a person should hear of a
 * monitor that was cut off, and returns true; else false. Once a second at most.
 */
bool frames_link_hear(struct frames_link *f, struct err *said);

/* Frames that were refused by all its processes: beside the airlock's own link noise. */
uint64_t frames_link_refused(const struct frames_link *f);

/* Gives the counters' memory back; the process has ended. */
void frames_link_free(struct frames_link *f);

#endif
