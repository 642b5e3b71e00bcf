/* SPDX-License-Identifier: Apache-2.0 */
#include "http/text.h"

#include <strings.h>

bool http_is_token_octet(uint8_t c)
{
	/* One bit an octet, from 0x00 to 0x7f: letters, digits and !#$%&'*+-.^_`|~ */
	static const uint32_t tokens[4] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};

	return c < 0x80 && tokens[c / 32] >> c % 32 & 1;
}

bool http_is_token(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!http_is_token_octet(s.p[i]))
			return false;
	return s.n > 0;
}

bool http_is_text(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
			return false;
	return true;
}

bool http_is_word(struct span s, const char *word)
{
	/* Most are told apart by their first letter. */
	if (s.n == 0 || (s.p[0] | 0x20) != (word[0] | 0x20))
		return false;
	return s.n == strlen(word) && strncasecmp((const char *)s.p, word, s.n) == 0;
}

struct span http_take_until(struct span *s, uint8_t c)
{
	const uint8_t *end = s->n ? memchr(s->p, c, s->n) : NULL;
	struct span head = *s;

	if (!end) {
		*s = http_span_from(*s, s->n);
		return head;
	}
	head.n = (size_t)(end - s->p);
	*s = http_span_from(*s, head.n + 1);
	return head;
}

struct span http_trim(struct span s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = http_span_from(s, 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

bool http_parse_number(struct span s, unsigned digits_max, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (s.n == 0 || s.n > digits_max)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(s.p[i] - '0');
	}
	*out = v;
	return v <= max;
}
