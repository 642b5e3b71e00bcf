/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_file: the segment that is being written.
 *
 * Packets are gathered and go out by one call, blocks whole; the frames stay where they are, so
 * capture_file_flush() comes before their block of the ring is given back. Room on the disk is taken
 * ahead, and FREE_MIN octets of it are left to others: a disk that fills up ends a capture between
 * two blocks, with the last block, the statistics, in its place.
 */
#ifndef SG_CAPTURE_CAPTURE_FILE_H
#define SG_CAPTURE_CAPTURE_FILE_H

#include <sys/uio.h>

#include "base/compiler.h"

#include "capture/key_line.h"
#include "capture/pcapng.h"

enum {
	CAPTURE_BATCH = 256,
	CAPTURE_AHEAD = 1 << 20, /* octets that are taken of the disk at once */
	CAPTURE_FREE_MIN = 32 << 20,
};

struct capture_file {
	int fd; /* for writing alone; -1: there is none */
	uint64_t size, taken, max;
	uint64_t written; /* packets */
	uint64_t begun_ns;
	size_t n_parts;
	size_t pending;	   /* octets that are gathered */
	uint64_t gathered; /* packets of those */
	struct iovec part[3 * CAPTURE_BATCH];
	struct buf text; /* heads and tails of what is gathered */
	uint8_t text_octets[CAPTURE_BATCH * (PCAPNG_HEAD + PCAPNG_TAIL_MAX)];
};

#define CAPTURE_FILE_NONE ((struct capture_file){.fd = -1})

/* Takes over the descriptor of an empty file and writes what stands first in it. 0 or -errno. */
int capture_file_begin(struct capture_file *f, int fd, uint64_t max_octets, const char *sandbox,
		       uint64_t now_ns) sg_must_check;

/* Would a packet, or secrets, of so many octets still fit, the statistics behind it? */
bool capture_file_has_room(const struct capture_file *f, size_t octets);

/* `frame` stays as it is until the next flush, which this may be. 0 or -errno. */
int capture_file_add(struct capture_file *f, const struct pcapng_packet *p,
		     struct span frame) sg_must_check;

/* A line of a key log, which is copied. 0 or -errno. */
int capture_file_add_key(struct capture_file *f, struct span line) sg_must_check;

/* 0 or -errno; then the file ends with the last block that was whole. */
int capture_file_flush(struct capture_file *f) sg_must_check;

/*
 * What was gathered, the statistics, and the end: the descriptor is closed. `written` and the times
 * of s are filled in. 0 or -errno.
 */
int capture_file_end(struct capture_file *f, struct pcapng_statistics *s) sg_must_check;

extern const int capture_file_syscalls[];

#endif
