/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of frames, with the MTU in the first two octets: every octet is used once, a frame is
 * whole with no octet fewer, and what the device says of a frame never reaches beyond it.
 */
#include <stdlib.h>

#include "frames/framing.h"
#include "frames/tap.h"
#include "fuzz.h"

static void check_cut(struct span left, size_t used, uint32_t mtu)
{
	struct span frame;
	size_t other;

	if (framing_next(span_of(left.p, used - 1), mtu, &frame, &other) != FRAMING_MORE || other)
		abort();
}

static void complete(struct span frame)
{
	struct virtio_net_hdr h;
	uint8_t *copy;

	if (frame.n < sizeof(h))
		return;
	memcpy(&h, frame.p, sizeof(h));
	copy = malloc(frame.n);
	if (!copy)
		abort();
	memcpy(copy, frame.p, frame.n);
	(void)tap_complete(&h, copy, frame.n);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span left, frame;
	enum framing r;
	uint32_t mtu;
	size_t used;

	if (size < 2)
		return 0;
	mtu = (uint32_t)(data[0] << 8 | data[1]);
	left = span_of(data + 2, size - 2);
	while ((r = framing_next(left, mtu, &frame, &used)) == FRAMING_FRAME ||
	       r == FRAMING_REFUSED) {
		if (used != FRAMING_LENGTH + frame.n || used > left.n ||
		    frame_fits(frame.n, mtu) != (r == FRAMING_FRAME))
			abort();
		check_cut(left, used, mtu);
		complete(frame);
		left = span_of(left.p + used, left.n - used);
	}
	if (used || (r == FRAMING_LIE && frame.n <= FRAME_LONGEST))
		abort();
	return 0;
}
