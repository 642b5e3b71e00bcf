/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/graphql_token.h"

#include "base/hex.h"

/* The octet `ahead` of where the reader stands; 0, which no document has, behind the end. */
static uint8_t peek(const struct reader *r, size_t ahead)
{
	return ahead < reader_left(r) ? r->p[r->at + ahead] : 0;
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_start(uint8_t c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_octet(uint8_t c)
{
	return is_name_start(c) || is_digit(c);
}

static bool is_line_end(uint8_t c)
{
	return c == '\n' || c == '\r';
}

/* SourceCharacter, 2.1.1: the controls but tab and line ends are none. */
static bool is_source(uint8_t c)
{
	return c >= 0x20 ? c != 0x7f : c == '\t' || is_line_end(c);
}

/*
 * A comment ends with its line. One with anything but ASCII in it is not passed: some readers also
 * end lines at U+0085, U+2028 or U+2029, and would find tokens behind them.
 */
static bool pass_comment(struct reader *r)
{
	while (reader_left(r) && !is_line_end(peek(r, 0))) {
		if (!is_source(peek(r, 0)) || peek(r, 0) >= 0x80)
			return false;
		r->at++;
	}
	return true;
}

static bool pass_ignored(struct reader *r)
{
	static const uint8_t mark[3] = {0xef, 0xbb, 0xbf};

	if (r->at == 0 && reader_left(r) >= 3 && memcmp(r->p, mark, 3) == 0)
		r->at = 3;
	for (;;) {
		uint8_t c = peek(r, 0);

		if (c == '#') {
			if (!pass_comment(r))
				return false;
		} else if (c == ' ' || c == '\t' || c == ',' || is_line_end(c)) {
			r->at++;
		} else {
			return true;
		}
	}
}

/* How many octets from there on are digits. */
static size_t count_digits(const struct reader *r, size_t from)
{
	size_t n = 0;

	while (is_digit(peek(r, from + n)))
		n++;
	return n;
}

/* 2.9.1 and 2.9.2. 0: it is none. */
static size_t measure_number(const struct reader *r)
{
	size_t n = peek(r, 0) == '-', digits = count_digits(r, n);

	if (!digits || (digits > 1 && peek(r, n) == '0'))
		return 0;
	n += digits;
	if (peek(r, n) == '.') {
		digits = count_digits(r, n + 1);
		if (!digits)
			return 0;
		n += 1 + digits;
	}
	if ((peek(r, n) | 0x20) == 'e') {
		n += 1 + (peek(r, n + 1) == '+' || peek(r, n + 1) == '-');
		digits = count_digits(r, n);
		if (!digits)
			return 0;
		n += digits;
	}
	return peek(r, n) == '.' || is_name_start(peek(r, n)) ? 0 : n;
}

/* How long the escape is that the backslash at `at` begins; 0: it is none. */
static size_t measure_escape(const struct reader *r, size_t at)
{
	uint8_t c = peek(r, at + 1);

	if (c == 'u') {
		for (size_t i = 2; i < 6; i++)
			if (hex_value(peek(r, at + i)) < 0)
				return 0;
		return 6;
	}
	return c && strchr("\"\\/bfnrt", c) ? 2 : 0;
}

static size_t measure_string(const struct reader *r)
{
	size_t n = 1;

	while (peek(r, n) != '"') {
		size_t step = peek(r, n) == '\\' ? measure_escape(r, n) : 1;

		if (!step || !is_source(peek(r, n)) || is_line_end(peek(r, n)))
			return 0;
		n += step;
	}
	return n + 1;
}

static bool has_quotes(const struct reader *r, size_t at)
{
	return peek(r, at) == '"' && peek(r, at + 1) == '"' && peek(r, at + 2) == '"';
}

static size_t measure_block_string(const struct reader *r)
{
	size_t n = 3;

	while (!has_quotes(r, n)) {
		if (!is_source(peek(r, n)))
			return 0;
		n += peek(r, n) == '\\' && has_quotes(r, n + 1) ? 4 : 1;
	}
	return n + 3;
}

static size_t measure_name(const struct reader *r)
{
	size_t n = 0;

	while (is_name_octet(peek(r, n)))
		n++;
	return n;
}

/* The kind by the first octet, and how many octets the token has; 0: it is none. */
static enum graphql_kind measure(const struct reader *r, size_t *n)
{
	uint8_t c = peek(r, 0);

	if (is_name_start(c)) {
		*n = measure_name(r);
		return GRAPHQL_NAME;
	}
	if (c == '-' || is_digit(c)) {
		*n = measure_number(r);
		return GRAPHQL_NUMBER;
	}
	if (c == '"') {
		*n = has_quotes(r, 0) ? measure_block_string(r) : measure_string(r);
		return GRAPHQL_STRING;
	}
	if (c == '.')
		*n = peek(r, 1) == '.' && peek(r, 2) == '.' ? 3 : 0;
	else
		*n = c && strchr("!$&():=@[]{|}", c) ? 1 : 0;
	return GRAPHQL_PUNCTUATOR;
}

struct graphql_token graphql_token_next(struct reader *document)
{
	struct graphql_token token = {.kind = GRAPHQL_BAD};
	size_t n;

	if (!pass_ignored(document))
		return token;
	if (!reader_left(document)) {
		token.kind = GRAPHQL_END;
		return token;
	}
	token.kind = measure(document, &n);
	if (!n)
		return (struct graphql_token){.kind = GRAPHQL_BAD};
	token.text = reader_take(document, n);
	return token;
}
