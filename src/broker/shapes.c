/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 takes six bits for a character. Where the octets begin at a multiple of three in what is
 * encoded, or one or two behind it, gives three texts; of each only the characters are kept that
 * hold no bit of a neighbour.
 */
#include "broker/shapes.h"

#include "base/hex.h"

enum { BASE64_BITS = 6, SHAPE_MIN = 4 /* a shorter one would stand in any text */ };

static const char alphabets[2][65] = {
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

/* ---- Making ---- */

/* The six bits that begin `bit` bits behind the start of the octets; all of them are there. */
static unsigned bits_at(struct span octets, size_t bit)
{
	size_t at = bit / 8;
	unsigned w = (unsigned)octets.p[at] << 8;

	if (at + 1 < octets.n)
		w |= octets.p[at + 1];
	return w >> (16 - BASE64_BITS - bit % 8) & 63;
}

/* `shift`: how many octets stand before in the group of three. */
static void put_base64(struct buf *b, struct span octets, unsigned shift, const char *alphabet)
{
	size_t bit = (BASE64_BITS - shift * 8 % BASE64_BITS) % BASE64_BITS;

	for (; bit + BASE64_BITS <= octets.n * 8; bit += BASE64_BITS)
		buf_put_u8(b, (uint8_t)alphabet[bits_at(octets, bit)]);
}

static void add_shape(struct shapes *f, struct span text)
{
	if (text.n < SHAPE_MIN)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (span_equal(f->text[i], text))
			return;
	f->begins[text.p[0]] = true;
	if (text.p[0] == ' ')
		f->begins['+'] = true;
	f->text[f->n++] = text;
}

bool shapes_make(struct span octets, struct buf *memory, struct shapes *out)
{
	*out = (struct shapes){.begins = {['%'] = true, ['\\'] = true}};
	add_shape(out, octets);
	for (unsigned i = 0; i < SHAPES_BASE64; i++) {
		size_t from = memory->n;

		put_base64(memory, octets, i / 2, alphabets[i % 2]);
		if (memory->full)
			return false;
		add_shape(out, span_of(memory->p + from, memory->n - from));
	}
	return true;
}

/* ---- Finding ---- */

enum match { MATCH_NO, MATCH_CUT, MATCH_YES };

/* Do the octets at s, of which there are n or the text ends, spell the value in `digits` digits? */
static enum match match_hex(struct span s, size_t digits, unsigned value)
{
	unsigned v = 0;

	for (size_t i = 0; i < digits; i++) {
		int d = i < s.n ? hex_value(s.p[i]) : 0;

		if (d < 0)
			return MATCH_NO;
		if (i < s.n)
			v = v << 4 | (unsigned)d;
		if (i >= s.n)
			return v == value >> 4 * (digits - i) ? MATCH_CUT : MATCH_NO;
	}
	return v == value ? MATCH_YES : MATCH_NO;
}

static enum match match_backslash(struct span s, uint8_t octet, size_t *used)
{
	if (s.n < 2)
		return MATCH_CUT;
	*used = 2;
	if (s.p[1] == 'u') {
		*used = SHAPE_ESCAPE_MAX;
		return match_hex(span_of(s.p + 2, s.n - 2), 4, octet);
	}
	return s.p[1] == octet && (octet == '"' || octet == '\\' || octet == '/') ? MATCH_YES
										  : MATCH_NO;
}

/* One octet, however it is written at the beginning of s, which is not empty. */
static enum match match_octet(struct span s, uint8_t octet, size_t *used)
{
	enum match m = MATCH_NO;

	if (s.p[0] == '%') {
		*used = 3;
		m = match_hex(span_of(s.p + 1, s.n - 1), 2, octet);
	} else if (s.p[0] == '\\') {
		m = match_backslash(s, octet, used);
	}
	if (m != MATCH_NO)
		return m;
	*used = 1;
	return s.p[0] == octet || (s.p[0] == '+' && octet == ' ') ? MATCH_YES : MATCH_NO;
}

static enum match match_escaped(struct span shape, struct span s, size_t *n)
{
	size_t at = 0, used = 0;

	for (size_t i = 0; i < shape.n; i++) {
		enum match m = at < s.n
				       ? match_octet(span_of(s.p + at, s.n - at), shape.p[i], &used)
				       : MATCH_CUT;

		if (m != MATCH_YES)
			return m;
		at += used;
	}
	*n = at;
	return MATCH_YES;
}

static enum match match_plain(struct span shape, struct span s, size_t *n)
{
	*n = shape.n;
	if (memcmp(shape.p, s.p, shape.n < s.n ? shape.n : s.n) != 0)
		return MATCH_NO;
	return shape.n <= s.n ? MATCH_YES : MATCH_CUT;
}

static enum match match_shape(struct span shape, struct span s, size_t *n)
{
	enum match plain = match_plain(shape, s, n), escaped;

	if (plain == MATCH_YES)
		return plain;
	escaped = match_escaped(shape, s, n);
	return escaped != MATCH_NO ? escaped : plain;
}

/* The octet itself, or the begin of a way to write it. */
static bool may_be(uint8_t c, uint8_t octet)
{
	return c == octet || c == '%' || c == '\\' || c == '+';
}

/* Most that begins like a shape is none: two octets tell, before anything is compared. */
static bool may_begin(struct span shape, struct span s)
{
	return may_be(s.p[0], shape.p[0]) &&
	       (s.p[0] != shape.p[0] || s.n == 1 || may_be(s.p[1], shape.p[1]));
}

/* The best of all shapes that begin at the beginning of s. */
static enum match match_any(const struct shapes *f, struct span s, size_t *n)
{
	enum match best = MATCH_NO;
	size_t length = 0;

	for (size_t i = 0; i < f->n; i++) {
		enum match m =
			may_begin(f->text[i], s) ? match_shape(f->text[i], s, &length) : MATCH_NO;

		if (m > best || (m == MATCH_YES && length > *n)) {
			best = m;
			*n = length;
		}
	}
	return best;
}

bool shapes_find(const struct shapes *f, struct span text, size_t from, struct shape_found *out)
{
	for (size_t i = from; i < text.n; i++) {
		size_t n = 0;
		enum match m;

		if (!f->begins[text.p[i]])
			continue;
		m = match_any(f, span_of(text.p + i, text.n - i), &n);
		if (m == MATCH_NO)
			continue;
		*out = (struct shape_found){
			.at = i, .n = m == MATCH_YES ? n : text.n - i, .cut = m == MATCH_CUT};
		return true;
	}
	return false;
}
