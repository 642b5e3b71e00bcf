/* SPDX-License-Identifier: Apache-2.0 */
/* A router solicitation: first octet the hop limit, second whether it has a source address. */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/router_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct addr unspecified, local = {{0xfe, 0x80, [15] = 2}};
	struct span octets;

	if (size < 2)
		return 0;
	octets = span_of(data + 2, size - 2);
	if (!router_solicit_valid(octets, data[1] ? &local : &unspecified, data[0]))
		return 0;
	/* Whole units of eight octets, from a neighbour, and valid with a source if without one. */
	if (data[0] != 255 || octets.n < 8 || octets.n % 8 || octets.p[0] != 133 ||
	    !router_solicit_valid(octets, &local, 255))
		abort();
	return 0;
}
