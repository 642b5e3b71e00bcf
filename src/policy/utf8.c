/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/utf8.h"

/* The octets that the first octet announces and the bits of the code point that it holds. */
static size_t announced(uint8_t first, uint32_t *bits)
{
	if (first < 0x80) {
		*bits = first;
		return 1;
	}
	if ((first & 0xe0) == 0xc0) {
		*bits = first & 0x1f;
		return 2;
	}
	if ((first & 0xf0) == 0xe0) {
		*bits = first & 0x0f;
		return 3;
	}
	if ((first & 0xf8) == 0xf0) {
		*bits = first & 0x07;
		return 4;
	}
	return 0;
}

size_t utf8_decode(const uint8_t *p, size_t n, uint32_t *code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c = 0;
	size_t want = announced(p[0], &c);

	if (want == 0 || want > n)
		return 0;
	for (size_t i = 1; i < want; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < smallest[want] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return want;
}

size_t utf8_encode(uint32_t code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}
