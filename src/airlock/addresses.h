/* SPDX-License-Identifier: Apache-2.0 */
/* addresses: what every airlock has in common, known on both sides of it. */
#ifndef SG_AIRLOCK_ADDRESSES_H
#define SG_AIRLOCK_ADDRESSES_H

#include <stdlib.h>

#include "base/addr.h"

/*
 * 192.0.0.0/29 is set aside for such links (RFC 7335); the ULA is the project's own (RFC 4193).
 * Nothing outside an airlock sees them, so every sandbox has the same.
 */
#define AIRLOCK_GATE_V4		"192.0.0.1"
#define AIRLOCK_SANDBOX_V4	"192.0.0.2"
#define AIRLOCK_V4_BITS		29
#define AIRLOCK_GATE_V6		"fd73:616e:6467:1::1"
#define AIRLOCK_SANDBOX_V6	"fd73:616e:6467:1::2"
#define AIRLOCK_V6_BITS		64
#define AIRLOCK_GATE_LINK_LOCAL "fe80::1" /* on the link of a virtual machine */
#define AIRLOCK_MTU		65520
#define AIRLOCK_TAP_MTU		1500

/*
 * The two ends of one link. A container's network may have given the sandbox an address of its own;
 * the gate then has that network's gateway.
 */
struct airlock_addresses {
	struct addr gate_v4, sandbox_v4, gate_v6, sandbox_v6;
	uint8_t v4_bits, v6_bits; /* as in a prefix of that family: 29, 64 */
	bool v6_prefix; /* every address of the IPv6 prefix is the sandbox's: it makes its own (RFC
			   4862) */
};

static inline struct addr airlock_address(const char *text)
{
	struct addr a = {{0}};

	if (!addr_parse(text, strlen(text), &a))
		abort();
	return a;
}

static inline struct airlock_addresses airlock_usual_addresses(void)
{
	return (struct airlock_addresses){
		.gate_v4 = airlock_address(AIRLOCK_GATE_V4),
		.sandbox_v4 = airlock_address(AIRLOCK_SANDBOX_V4),
		.gate_v6 = airlock_address(AIRLOCK_GATE_V6),
		.sandbox_v6 = airlock_address(AIRLOCK_SANDBOX_V6),
		.v4_bits = AIRLOCK_V4_BITS,
		.v6_bits = AIRLOCK_V6_BITS,
	};
}

#endif
