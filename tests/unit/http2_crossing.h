/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_crossing: a request of HTTP/2, however malformed, on its way to a server of HTTP/1.1:
 * through http2_server and http1_client into text, which the strict parser reads again. It must
 * find the very request that was judged, and nothing else (RFC 9113, 10.3).
 */
#ifndef SG_TESTS_HTTP2_CROSSING_H
#define SG_TESTS_HTTP2_CROSSING_H

#include "base/span.h"

enum {
	CROSSING_PLAIN = 1, /* the usual pseudo-header fields stand first */
	CROSSING_ENDS = 2,  /* END_STREAM on the head */
	CROSSING_FIELDS_END = 255,
};

struct crossing {
	bool crossed;	   /* a request reached the server */
	const char *wrong; /* NULL: all is well */
};

/*
 * `way`: one octet of flags; then fields, each a name and a value with its length in one octet
 * before it, until CROSSING_FIELDS_END or the end; then the body.
 */
struct crossing crossing_try(struct span way);

#endif
