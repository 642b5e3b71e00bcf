/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DHCP message of a client, and the answer to it: whatever the client says, the answer fits, is
 * none that a server takes for a client's, and offers nothing but the one address.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/dhcp.h"

static const struct dhcp_lease lease = {
	.server = {{[10] = 0xff, [11] = 0xff, [12] = 192, [15] = 1}},
	.client = {{[10] = 0xff, [11] = 0xff, [12] = 192, [15] = 2}},
	.bits = 29,
	.mtu = 1500,
	.seconds = 3600,
};

static void check_answer(const struct dhcp_message *m, enum dhcp_answer a)
{
	static const uint8_t none[4], everybody[4] = {255, 255, 255, 255};
	uint8_t octets[DHCP_REPLY_MAX];
	struct buf b = buf_of(octets, sizeof(octets));
	struct addr to = dhcp_answer_goes_to(m, &lease, a);
	struct dhcp_message again;

	dhcp_build(&b, m, &lease, a);
	if (b.full || b.n < 300 || octets[0] != 2 || dhcp_parse(buf_span(&b), &again))
		abort();
	if (memcmp(octets + 16, none, 4) != 0 &&
	    memcmp(octets + 16, addr_v4_octets(&lease.client), 4) != 0)
		abort();
	if (!addr_equal(&to, &lease.client) && memcmp(addr_v4_octets(&to), everybody, 4) != 0)
		abort();
}

static void check_within(struct span whole, struct span s)
{
	if (s.n && (s.p < whole.p || s.n > whole.n || s.p + s.n > whole.p + whole.n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span octets = span_of(data, size);
	struct dhcp_message m;
	enum dhcp_answer a;

	if (!dhcp_parse(octets, &m))
		return 0;
	if (size > DHCP_OCTETS_MAX || m.type == DHCP_OFFER || m.type == DHCP_ACK ||
	    m.type == DHCP_NAK)
		abort();
	check_within(octets, m.client_id);
	check_within(octets, m.wanted);
	a = dhcp_answer_to(&m, &lease);
	if (a != DHCP_ANSWER_NONE && a != DHCP_ANSWER_WRONG)
		check_answer(&m, a);
	return 0;
}
