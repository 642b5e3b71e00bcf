/* SPDX-License-Identifier: Apache-2.0 */
/* address: which addresses are special, and the IPv4 address inside an IPv6 one. */
#ifndef SG_POLICY_ADDRESS_H
#define SG_POLICY_ADDRESS_H

#include "policy/catalogue.h"

struct special {
	enum special_class kind;
	const char *text; /* "private (RFC 1918)"; NULL when public */
};

/* By the table alone, after unwrapping. */
struct special address_classify(const struct addr *a);

/* By the table and by what the host has; `host` may be NULL. */
struct special address_classify_for(const struct host_prefixes *host, const struct addr *a);

/*
 * The address that is judged: the IPv4 address inside a compatible, translated or NAT64 one
 * (RFC 4291, 2765, 6052), else the address itself.
 */
struct addr address_unwrap(const struct addr *a);

#endif
