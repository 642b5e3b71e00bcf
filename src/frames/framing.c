/* SPDX-License-Identifier: Apache-2.0 */
#include "frames/framing.h"

enum framing framing_next(struct span octets, uint32_t mtu, struct span *frame, size_t *used)
{
	struct reader r = reader_of(octets);
	uint32_t length = reader_u32(&r);

	*frame = span_of(NULL, 0);
	*used = 0;
	if (r.bad)
		return FRAMING_MORE;
	if (length > FRAME_LONGEST) {
		frame->n = length;
		return FRAMING_LIE;
	}
	if (length > reader_left(&r))
		return FRAMING_MORE;
	*frame = reader_take(&r, length);
	*used = FRAMING_LENGTH + length;
	return frame_fits(length, mtu) ? FRAMING_FRAME : FRAMING_REFUSED;
}
