/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carrier: what the two kinds of socket have in common: the loop waits for what a carrier wants, and
 * gives it its turn. Private to src/frames.
 */
#ifndef SG_FRAMES_CARRIER_H
#define SG_FRAMES_CARRIER_H

#include <poll.h>

#include "base/clock.h"
#include "frames/frames.h"

enum {
	CARRIER_OCTETS = 256 * 1024, /* of a buffer, one each way: all that is ever kept */
	CARRIER_FRAMES = 64,	     /* in one turn, each way */
	CARRIER_CHECK_MS = 1000,     /* how often a datagram peer is looked after */
	FRAME_TAG = 4, /* room for a VLAN tag of the kernel's: it shows that a frame is too long */
};

struct carrier {
	const struct frames_setup *setup;
	int control;
	mono_t told; /* when the supervisor was last told something */
};

/* Of what poll(2) is asked for. */
enum { WAIT_CONTROL, WAIT_SOCKET, WAIT_TAP, WAITS };

/* Counts the frame as given to the machine's side, or as refused. */
void carrier_put_out(const struct carrier *c, const uint8_t *frame, size_t n);

/*
 * The next frame for the machine, at most the link's MTU and a header, into `out` of `cap` octets,
 * which is more than that. 0: none is there. Ends the process when the device is gone.
 */
size_t carrier_take_in(const struct carrier *c, uint8_t *out, size_t cap);

/* Frames that came while nobody was there: the next one does not begin with them. */
void carrier_forget_waiting(const struct carrier *c);

/* The machine's monitor sent a length that is none, or is not this person's; once a second. */
void carrier_tell_lie(struct carrier *c, uint32_t length);
void carrier_tell_stranger(struct carrier *c, uid_t uid);

/* Its datagrams cannot be answered, with what errno says. */
void carrier_tell_unanswerable(struct carrier *c, int error);

/* True for a process of this one's user, or of root's. */
bool carrier_is_own(uid_t uid);

/* Sets f[WAIT_SOCKET], f[WAIT_TAP]; returns how long to wait, -1: for ever. */
int stream_wait(struct carrier *c, struct pollfd *f);
void stream_turn(struct carrier *c, const struct pollfd *f);

int datagram_wait(struct carrier *c, struct pollfd *f);
void datagram_turn(struct carrier *c, const struct pollfd *f);
/* Makes senders show who they are. 0 or -errno. */
int datagram_prepare(const struct carrier *c);

#endif
