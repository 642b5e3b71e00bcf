/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_svcb: SVCB and HTTPS records (RFC 9460), read strictly and written anew.
 *
 * What a record could do against the policy is taken out: `ech` would hide the server name,
 * `h3` leads to QUIC, an address hint would be an address that nobody vetted, and a key that is
 * not known here cannot be judged.
 */
#ifndef SG_GATE_DNS_SVCB_H
#define SG_GATE_DNS_SVCB_H

#include "gate/dns.h"

enum svcb_key { /* RFC 9460, 14.3.2 */
		SVCB_MANDATORY,
		SVCB_ALPN,
		SVCB_NO_DEFAULT_ALPN,
		SVCB_PORT,
		SVCB_IPV4HINT,
		SVCB_ECH,
		SVCB_IPV6HINT,
		SVCB_KEYS, /* those before are known */
};

struct dns_svcb {
	uint16_t priority;	     /* 0: AliasMode */
	struct dns_wire_name target; /* the root: the owner itself, or in AliasMode "no service" */
	uint8_t present;	     /* bits of 1 << key */
	bool unknown_mandatory;	     /* a key that is not known here must be understood */
	struct span value[SVCB_KEYS];
};

/* The data of a record that ends where `rdata_end` says, inside `message`. False: malformed. */
bool dns_svcb_parse(struct span message, size_t at, size_t rdata_end, struct dns_svcb *out);

/* The data again, in wire form; keys that are not known are gone. */
void dns_svcb_put(struct buf *b, const struct dns_svcb *s);

struct dns_svcb_admitted {
	bool quic;
	const struct addr *v4, *v6; /* vetted addresses of the target, for the hints */
	size_t n_v4, n_v6;
};

/*
 * Writes the record as the sandbox may see it. False: nothing that may be used is left of it,
 * and nothing was written. The caller has judged the target.
 */
bool dns_svcb_rewrite(struct span rdata, const struct dns_svcb_admitted *a, struct buf *out);

#endif
