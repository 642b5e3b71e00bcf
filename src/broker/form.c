/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/form.h"

#include "base/hex.h"
#include "http/text.h"

/* One octet of the text at *i, decoded; -1: a bad escape. */
static int decode_octet(struct span s, size_t *i)
{
	int hi, lo;

	if (s.p[*i] != '%')
		return s.p[*i] == '+' ? ' ' : s.p[*i];
	if (s.n - *i < 3)
		return -1;
	hi = hex_value(s.p[*i + 1]);
	lo = hex_value(s.p[*i + 2]);
	*i += 2;
	return hi < 0 || lo < 0 ? -1 : hi << 4 | lo;
}

static bool decode(struct span s, char *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int c = decode_octet(s, &i);

		if (c <= 0 || n == max)
			return false;
		out[n++] = (char)c;
	}
	out[n] = 0;
	return true;
}

enum form_result form_next(struct span *rest, struct form_pair *out)
{
	struct span pair, key;

	do {
		if (rest->n == 0)
			return FORM_END;
		pair = http_take_until(rest, '&');
	} while (pair.n == 0);
	if (memchr(pair.p, ';', pair.n))
		return FORM_UNCLEAR;
	key = http_take_until(&pair, '=');
	return decode(key, out->key, FORM_KEY_MAX) && decode(pair, out->value, FORM_VALUE_MAX)
		       ? FORM_PAIR
		       : FORM_UNCLEAR;
}

struct span form_of_target(const char *target, bool *has)
{
	const char *mark = strchr(target, '?');

	*has = mark != NULL;
	return mark ? span_of_string(mark + 1) : span_of(NULL, 0);
}
