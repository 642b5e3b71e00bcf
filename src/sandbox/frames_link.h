/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_link: the supervisor's hold on its process `frames`, which carries Ethernet frames between
 * a virtual machine monitor's UNIX socket (frames_socket.h) and the tap device of an airlock.
 *
 * The supervisor keeps the descriptors of both, so one process after the other can carry the frames,
 * and the machine loses no more than what was under way. What they count outlives each of them.
 */
#ifndef SG_SANDBOX_FRAMES_LINK_H
#define SG_SANDBOX_FRAMES_LINK_H

#include "frames/frames.h"
#include "sandbox/process_link.h"

struct frames_link {
	struct process_link process;
	struct frames_counters *counters; /* shared with all its processes; NULL before the first */
};

#define FRAMES_LINK_NONE       \
	((struct frames_link){ \
		.process = {.what = "process that carries frames", .pidfd = -1, .control = -1}})

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
 * To be called when process.control is readable: true when a person should hear of a monitor that
 * was cut off, with what in `said`. Once a second at most, of each process.
 */
bool frames_link_hear(struct frames_link *f, struct err *said);

/* Frames that were refused by all its processes: beside the airlock's own link noise. */
uint64_t frames_link_refused(const struct frames_link *f);

/* Gives the counters' memory back, when the process has ended. */
void frames_link_free(struct frames_link *f);

#endif
