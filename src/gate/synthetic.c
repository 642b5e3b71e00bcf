/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/synthetic.h"

#include <string.h>

static const struct addr prefix_v6 = {{0xfd, 0x73, 0x61, 0x6e, 0x64, 0x67, 0, 5}};

uint32_t synthetic_number(const struct addr *a)
{
	uint32_t v = (uint32_t)a->b[12] << 24 | (uint32_t)a->b[13] << 16 | (uint32_t)a->b[14] << 8 |
		     a->b[15];

	if (addr_is_v4(a))
		v = v >> 17 == (198u << 24 | 18u << 16) >> 17 ? v & (SYNTHETIC_NUMBERS - 1) : 0;
	else if (memcmp(a->b, prefix_v6.b, 12) != 0)
		return 0;
	return v <= SYNTHETIC_LAST ? v : 0;
}

struct addr synthetic_addr(uint32_t n, bool v4)
{
	const uint8_t octets[4] = {198, 18 | (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
	struct addr a = prefix_v6;

	if (v4)
		return addr_from_v4(octets);
	a.b[13] = (uint8_t)(n >> 16);
	a.b[14] = octets[2];
	a.b[15] = octets[3];
	return a;
}
