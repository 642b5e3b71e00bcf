/* SPDX-License-Identifier: Apache-2.0 */
/* checksum: what the kernel leaves to the hardware, of which a link of this kind has none. */
#ifndef SG_CAPTURE_CHECKSUM_H
#define SG_CAPTURE_CHECKSUM_H

#include "capture/frame.h"

/*
 * Completes the checksum of TCP, UDP or ICMPv6 in the octets of the frame itself (RFC 1071, and 8.1
 * of RFC 8200). Any other frame stays as it is.
 */
void checksum_complete(const struct frame *f, uint8_t *octets);

#endif
