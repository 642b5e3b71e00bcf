/* SPDX-License-Identifier: Apache-2.0 */
/* digest: a SHA-256, as a type of its own. */
#ifndef SG_AUDIT_DIGEST_H
#define SG_AUDIT_DIGEST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/span.h"

enum { DIGEST_OCTETS = 32, DIGEST_TEXT = BASE64_TEXT(DIGEST_OCTETS) };

struct digest {
	uint8_t b[DIGEST_OCTETS];
};

/* Of the spans one after the other. Ends the process when there is no memory for it. */
struct digest digest_of(const struct span *parts, size_t n);

static inline bool digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->b, b->b, DIGEST_OCTETS) == 0;
}

/* In base64 (RFC 4648, section 4), as the C2SP formats have it. */
void digest_print(const struct digest *d, char out[DIGEST_TEXT + 1]);
bool digest_parse(struct span text, struct digest *out);

#endif
