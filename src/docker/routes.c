/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/routes.h"

/* types.StaticRoute of libnetwork. */
enum { BY_NEXT_HOP, ON_THE_LINK };

static json_t *route(const struct addr *to, uint8_t bits, const struct addr *by)
{
	struct docker_address destination = {.addr = *to, .bits = bits};
	char text[DOCKER_ADDRESS_TEXT_MAX], hop[ADDR_TEXT_MAX];

	return json_pack("{s:s, s:i, s:s}", "Destination",
			 docker_address_format(&destination, text), "RouteType",
			 by ? BY_NEXT_HOP : ON_THE_LINK, "NextHop", by ? addr_format(by, hop) : "");
}

bool docker_routes_add(json_t *list, const struct docker_address *g)
{
	unsigned all = addr_is_v4(&g->addr) ? 32 : 128, offset = 128 - all, bit = offset + g->bits;
	struct addr low = addr_masked(&g->addr, bit), high = low;

	if (g->bits + 1U >= all)
		return true;
	high.b[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return json_array_append_new(list, route(&g->addr, (uint8_t)all, NULL)) == 0 &&
	       json_array_append_new(list, route(&low, g->bits + 1, &g->addr)) == 0 &&
	       json_array_append_new(list, route(&high, g->bits + 1, &g->addr)) == 0;
}
