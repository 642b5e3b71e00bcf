/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic: the private addresses that a sandbox sees instead of a name's own, as numbers. Pure.
 *
 * 198.18.0.0/15 (RFC 2544) and fd73:616e:6467:5::/64. A number has one address in each family; 0, and
 * what would be the first or the last address of the IPv4 range, is none.
 */
#ifndef SG_GATE_SYNTHETIC_H
#define SG_GATE_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

enum {
	SYNTHETIC_NUMBERS = 1 << 17, /* with those that are none: an array by number */
	SYNTHETIC_LAST = SYNTHETIC_NUMBERS - 2,
};

/* 1..SYNTHETIC_LAST; 0 for any other address. */
uint32_t synthetic_number(const struct addr *a);

/* `n` is 1..SYNTHETIC_LAST. */
struct addr synthetic_addr(uint32_t n, bool v4);

#endif
