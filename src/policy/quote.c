/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/quote.h"

#include <stdio.h>

#include "base/buf.h"
#include "policy/utf8.h"

/* Room for the cut mark, the closing backquote and the NUL is kept free. */
enum { QUOTE_TAIL = 5, QUOTE_CHARACTER_MAX = 4 };

/*
 * Not only controls are escaped: marks that turn the direction of writing (U+202A..202E,
 * U+2066..2069) would make a message read as another.
 */
static bool is_plain(uint32_t code)
{
	return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && code != '`' &&
	       !(code >= 0x200b && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2060 && code <= 0x206f) && code != 0xfeff;
}

static size_t put_character(struct buf *b, struct span rest)
{
	uint32_t code = 0;
	size_t n = utf8_decode(rest.p, rest.n, &code);
	char escaped[8];

	if (n && is_plain(code)) {
		buf_put(b, rest.p, n);
		return n;
	}
	snprintf(escaped, sizeof(escaped), "\\x%02x", rest.p[0]);
	buf_put(b, escaped, QUOTE_CHARACTER_MAX);
	return 1;
}

char *quote_span(struct span text, char out[QUOTE_MAX])
{
	struct buf b = buf_of(out, QUOTE_MAX);
	size_t at = 0;

	buf_put_u8(&b, '`');
	while (at < text.n && b.n + QUOTE_CHARACTER_MAX + QUOTE_TAIL <= QUOTE_MAX)
		at += put_character(&b, span_of(text.p + at, text.n - at));
	if (at < text.n)
		buf_put(&b, "...", 3);
	buf_put(&b, "`", 2);
	return out;
}

char *quote_string(const char *text, char out[QUOTE_MAX])
{
	return quote_span(span_of_string(text), out);
}
