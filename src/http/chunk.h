/* SPDX-License-Identifier: Apache-2.0 */
/* chunk: the line before the octets of a chunk (RFC 9112, 7.1). */
#ifndef SG_HTTP_CHUNK_H
#define SG_HTTP_CHUNK_H

#include "base/span.h"

enum { HTTP_CHUNK_LINE_MAX = 1024 /* octets of a size and its extensions */ };

extern const char http_chunk_line_too_long[]; /* a sentence piece */

/* "1a2b" or "1a2b;name=value", without CRLF. NULL, or why it is malformed; a size is below 2^63. */
const char *http_chunk_line_parse(struct span line, uint64_t *size);

#endif
