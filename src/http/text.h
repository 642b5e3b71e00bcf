/* SPDX-License-Identifier: Apache-2.0 */
/* text: the small pieces that heads are made of (RFC 9110, 5.6). */
#ifndef SG_HTTP_TEXT_H
#define SG_HTTP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* tchar (RFC 9110, 5.6.2). */
bool http_is_token_octet(uint8_t c);
bool http_is_token(struct span s); /* one or more of them */

/* May stand in a value: no control character but HTAB (RFC 9110, 5.5). Octets over 0x7f may. */
bool http_is_text(struct span s);

/* Is it this word (lower case), whatever its case? */
bool http_is_word(struct span s, const char *word);

/* Without the first `at` octets, of which there are at least as many. */
static inline struct span http_span_from(struct span s, size_t at)
{
	return span_of(s.p + at, s.n - at);
}

/* The octets before the first `c`, which is passed; all when there is none. */
struct span http_take_until(struct span *s, uint8_t c);

/* Without spaces and tabs at its ends (OWS, RFC 9110, 5.6.3). */
struct span http_trim(struct span s);

/* Digits only, as many as `digits_max` at most; no sign, space or separator. */
bool http_parse_number(struct span s, unsigned digits_max, uint64_t max, uint64_t *out);

#endif
