/* SPDX-License-Identifier: Apache-2.0 */
/* tuple: what the packets of one exchange have in common: the key of its verdict. */
#ifndef SG_CAPTURE_TUPLE_H
#define SG_CAPTURE_TUPLE_H

#include <string.h>

#include "base/addr.h"

/*
 * `near` is the sandbox's end, `far` the other, whichever way a packet goes. Echo of either family
 * has the protocol IPPROTO_ICMP, its identifier as the near port and 0 as the far one. A connection
 * to a port of the gate's own is told by its near end alone: `far` is zeroes. No padding, so that
 * it is compared and hashed as octets.
 */
struct tuple {
	struct addr near, far;
	uint16_t near_port, far_port;
	uint16_t dns_id; /* of a lookup by UDP; else 0 */
	uint8_t proto;	 /* IPPROTO_* */
	uint8_t lookup;	 /* 1: a lookup by UDP */
};
_Static_assert(sizeof(struct tuple) == 40, "it has no padding");

static inline bool tuple_equal(const struct tuple *a, const struct tuple *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

#endif
