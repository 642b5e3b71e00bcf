/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/key_line.h"

enum { LABEL_MAX = 48, RANDOM_DIGITS = 64, SECRET_DIGITS_MAX = 128 };

static bool is_label(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_digit(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* How many octets from `at` on are such. */
static size_t run_of(struct span s, size_t at, bool (*is)(uint8_t))
{
	size_t n = at;

	while (n < s.n && is(s.p[n]))
		n++;
	return n - at;
}

static bool is_blank(struct span s, size_t at)
{
	return at < s.n && s.p[at] == ' ';
}

bool key_line_valid(struct span line)
{
	size_t label = run_of(line, 0, is_label), at = label + 1, secret;

	if (label == 0 || label > LABEL_MAX || !is_blank(line, label) ||
	    run_of(line, at, is_digit) != RANDOM_DIGITS || !is_blank(line, at + RANDOM_DIGITS))
		return false;
	at += RANDOM_DIGITS + 1;
	secret = run_of(line, at, is_digit);
	return secret >= 2 && secret <= SECRET_DIGITS_MAX && secret % 2 == 0 &&
	       at + secret == line.n;
}
