/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder: the process that writes a capture: every frame of a sandbox's link, both ways, each with
 * its verdict.
 *
 * It is forked by the supervisor with a packet socket on the link, the descriptor of an empty file,
 * and one end of a socket to the gate. It isolates itself, and then reads the sandbox's octets. It
 * can open nothing: further files are handed to it.
 */
#ifndef SG_CAPTURE_RECORDER_H
#define SG_CAPTURE_RECORDER_H

#include <sys/types.h>

#include "capture/noise.h"

/*
 * In shared memory: written by the recorder, as it goes, and read by the supervisor, which trusts
 * none of it. All of the whole capture.
 */
struct recorder_counters {
	uint64_t frames, octets; /* written; octets as they are in the files */
	uint64_t dropped;	 /* by the kernel: the ring was full */
	uint64_t undecided;	 /* of the frames, that no verdict was known of in time */
	uint64_t notes_lost;	 /* of the gate's verdicts, that found no room */
	uint64_t keys;
};

struct recorder_setup {
	const char *sandbox;
	int control;  /* SOCK_SEQPACKET to the supervisor, docs/protocol.md */
	int socket;   /* with the ring of airlock/capture_ring.h */
	int file;     /* the first segment, empty */
	int verdicts; /* SOCK_SEQPACKET from the gate */
	int keys;     /* SOCK_SEQPACKET from the broker, or -1 */
	struct link_facts link;
	uint64_t max_octets; /* of a segment */
	uint32_t files;	     /* segments in all */
	struct recorder_counters *counters;
	pid_t supervisor;
};

/* Never returns to the caller's code: the result is the exit status of the process. */
int recorder_main(const struct recorder_setup *s);

#endif
