/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64: RFC 4648, section 4, with padding, and only the one canonical text of any octets: no
 * white space, no missing padding, no bits set in what the padding leaves over (section 3.5).
 */
#ifndef SG_BASE_BASE64_H
#define SG_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

/* Characters for n octets, without a NUL. */
#define BASE64_TEXT(n) (((n) + 2) / 3 * 4)

/* `out` has room for BASE64_TEXT(octets.n) + 1, and is NUL-terminated. */
void base64_print(struct span octets, char *out);

/* False when the text is not canonical, or is more than `cap` octets. */
bool base64_parse(struct span text, uint8_t *out, size_t cap, size_t *n);

#endif
