/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_print(struct span octets, char *out)
{
	for (size_t i = 0; i < octets.n; i += 3) {
		size_t left = octets.n - i;
		uint32_t w = (uint32_t)octets.p[i] << 16;

		if (left > 1)
			w |= (uint32_t)octets.p[i + 1] << 8;
		if (left > 2)
			w |= octets.p[i + 2];
		*out++ = alphabet[w >> 18];
		*out++ = alphabet[w >> 12 & 63];
		*out++ = left > 1 ? alphabet[w >> 6 & 63] : '=';
		*out++ = left > 2 ? alphabet[w & 63] : '=';
	}
	*out = 0;
}

/* The six bits of the characters from '+' to 'z', or -1. */
static const int8_t values[] = {
	62, -1, -1, -1, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1,
	-1, -1, 0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15, 16, 17,
	18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, -1, -1, 26, 27, 28, 29, 30, 31,
	32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51,
};

static int value_of(uint8_t c)
{
	return c >= '+' && c <= 'z' ? values[c - '+'] : -1;
}

/* Four characters, of which the last `padding` are '='; false when they are not canonical. */
static bool parse_group(const uint8_t *text, size_t padding, uint32_t *w)
{
	*w = 0;
	for (size_t i = 0; i < 4; i++) {
		int v = i >= 4 - padding ? 0 : value_of(text[i]);

		if (v < 0)
			return false;
		*w = *w << 6 | (uint32_t)v;
	}
	return (*w & ((1u << 8 * padding) - 1)) == 0;
}

bool base64_parse(struct span text, uint8_t *out, size_t cap, size_t *n)
{
	size_t padding = 0, at = 0;

	*n = 0;
	if (text.n % 4)
		return false;
	if (text.n && text.p[text.n - 1] == '=')
		padding = text.p[text.n - 2] == '=' ? 2 : 1;
	if (text.n / 4 * 3 - padding > cap)
		return false;
	for (size_t i = 0; i < text.n; i += 4) {
		size_t p = i + 4 == text.n ? padding : 0;
		uint32_t w;

		if (!parse_group(text.p + i, p, &w))
			return false;
		for (size_t k = 0; k < 3 - p; k++)
			out[at++] = (uint8_t)(w >> (16 - 8 * k));
	}
	*n = at;
	return true;
}
