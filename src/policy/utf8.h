/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: one character of UTF-8 (RFC 3629), strictly: no surrogates, no overlong forms. */
#ifndef SG_POLICY_UTF8_H
#define SG_POLICY_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The octets of the character at p and its code point; 0 when there is none. n > 0. */
size_t utf8_decode(const uint8_t *p, size_t n, uint32_t *code);

/* Writes the character; code is a valid code point. Returns the octets written, 1..4. */
size_t utf8_encode(uint32_t code, char out[4]);

#endif
