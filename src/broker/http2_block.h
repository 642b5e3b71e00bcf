/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_block: the fields of one header block (RFC 9113, 4.3), as HPACK gave them, before anything
 * is judged.
 *
 * Blocks do not interleave, so a connection has one. Its memory is there only while a block comes
 * in. A few octets of HPACK may stand for kilobytes: what is over the limits of a message is
 * counted and not kept.
 */
#ifndef SG_BROKER_HTTP2_BLOCK_H
#define SG_BROKER_HTTP2_BLOCK_H

#include "broker/message.h"

enum {
	HTTP2_PSEUDO_MAX = 5, /* of a request: method, scheme, authority, path, protocol */
	HTTP2_BLOCK_FIELDS = MESSAGE_FIELDS_MAX + HTTP2_PSEUDO_MAX,
	/* A block that is so far over the limits is an attack on the one that unpacks it. */
	HTTP2_BLOCK_BOMB = 4,
};

struct http2_block {
	uint8_t *octets; /* owned, MESSAGE_HEAD_MAX */
	size_t n;
	size_t n_fields, n_pseudo; /* pseudo-header fields are fields */
	struct field fields[HTTP2_BLOCK_FIELDS];
	size_t seen, seen_fields; /* octets and fields, kept or not */
	bool too_large;
	bool no_memory;
	const char *fault; /* a field that HPACK gave and HTTP does not have; NULL: none */
};

void http2_block_begin(struct http2_block *b);
/* False: a bomb; the connection is not worth going on. */
bool http2_block_add(struct http2_block *b, struct span name, struct span value, bool sensitive);
/* Wipes: a credential may be in it. */
void http2_block_free(struct http2_block *b);

#endif
