/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_special: names that have an answer of their own, whatever the policy and the upstream say.
 */
#ifndef SG_GATE_DNS_SPECIAL_H
#define SG_GATE_DNS_SPECIAL_H

#include "base/addr.h"
#include "base/name.h"

enum dns_special {
	DNS_SPECIAL_NONE,
	DNS_SPECIAL_LOOPBACK, /* the sandbox's own loopback (RFC 6761, 6.3) */
	DNS_SPECIAL_NXDOMAIN,
	DNS_SPECIAL_NODATA,
	DNS_SPECIAL_IPV4ONLY, /* RFC 8880 */
	DNS_SPECIAL_GATE,     /* the gate's own addresses */
};

enum dns_special dns_special_find(const struct name *name);

enum dns_reverse {
	REVERSE_NOT,
	REVERSE_ADDR,  /* of a whole address */
	REVERSE_OTHER, /* in the tree of reverse names, but no address */
};

/* in-addr.arpa (RFC 1035, 3.5) and ip6.arpa (RFC 3596, 2.5). */
enum dns_reverse dns_reverse_parse(const struct name *name, struct addr *out);

#endif
