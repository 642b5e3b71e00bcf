/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap: frames to and from the tap device of an airlock, which has a header of virtio's before each
 * (struct virtio_net_hdr, ten octets). No offload is asked for, so a frame is whole both ways: not
 * one of several to be cut, and with its checksums.
 */
#ifndef SG_FRAMES_TAP_H
#define SG_FRAMES_TAP_H

#include <linux/virtio_net.h>

#include "base/span.h"

/* Takes offloads away, which whoever held it before may have asked for. 0 or -errno. */
int tap_prepare(int fd);

/* False when the device did not take it. */
bool tap_write(int fd, struct span frame);

enum tap_read {
	TAP_FRAME,
	TAP_EMPTY, /* nothing is there */
	TAP_BAD,   /* a frame that cannot be passed on as it stands: forget it */
	TAP_GONE,  /* the device is gone, with its airlock */
};

/* The next frame into `out` of `cap` octets; `n` is its length. */
enum tap_read tap_read(int fd, uint8_t *out, size_t cap, size_t *n);

/* Reads and forgets what waits; how many. What comes meanwhile is left, however much it is. */
size_t tap_discard(int fd);

/*
 * Puts in the checksum that the header says is missing. False when the header speaks of octets that
 * are not there, or of a frame that is to be cut.
 */
bool tap_complete(const struct virtio_net_hdr *h, uint8_t *frame, size_t n);

#endif
