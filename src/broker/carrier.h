/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carrier: the places of a request in which clients put credentials, and the query of a path. Pure.
 *
 * An allowed host that takes uploads under anyone's key is a way out. So on a host with a
 * credential no other place may carry one.
 */
#ifndef SG_BROKER_CARRIER_H
#define SG_BROKER_CARRIER_H

#include <stdbool.h>

#include "base/buf.h"

/* Gateways read `X_Api_Key` as `X-Api-Key` (RFC 3875, 4.1.18), so both are the same name here. */
bool carrier_is_same_name(struct span a, const char *b);
bool carrier_is_header(struct span name);

/* A key of a query, as it is sent: it is decoded here. */
bool carrier_is_key(struct span key);
bool carrier_is_same_key(struct span key, const char *name);

/* The pieces of a query, which `&` and `;` part: some servers take either. */
struct query_piece {
	struct span all, key, value; /* as sent */
};
/* `at`: the octet to go on at, at first 0. False: there are no more. */
bool query_next(struct span query, size_t *at, struct query_piece *out);

/* What stands behind the first `?` of a path; empty when there is none. */
struct span query_of(struct span path);

/* Unreserved octets as they are, the others as %XX (RFC 3986, 2.1 and 2.3). */
void query_put_encoded(struct buf *b, struct span octets);

#endif
