/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/pem.h"

#include "base/base64.h"

static const char begin_line[] = "-----BEGIN CERTIFICATE-----";
static const char end_line[] = "-----END CERTIFICATE-----";

enum { BASE64_MAX = BASE64_TEXT(PEM_CERTIFICATE_MAX) };

/* Up to `mark`, which `text` then has passed; false when it is not there. */
static bool take_to(struct span *text, const char *mark, struct span *before)
{
	size_t n = strlen(mark);
	const uint8_t *at = memmem(text->p, text->n, mark, n);

	if (!at)
		return false;
	*before = span_of(text->p, (size_t)(at - text->p));
	*text = span_of(at + n, text->n - before->n - n);
	return true;
}

/* The lines without their ends, in `out` of BASE64_MAX; false when they are longer. */
static bool join_lines(struct span lines, uint8_t *out, size_t *n)
{
	*n = 0;
	while (lines.n) {
		const uint8_t *end = memchr(lines.p, '\n', lines.n);
		size_t whole = end ? (size_t)(end - lines.p) : lines.n, line = whole;

		while (line && (lines.p[line - 1] == '\r' || lines.p[line - 1] == ' '))
			line--;
		if (line > BASE64_MAX - *n)
			return false;
		memcpy(out + *n, lines.p, line);
		*n += line;
		whole += end != NULL;
		lines = span_of(lines.p + whole, lines.n - whole);
	}
	return true;
}

/* One SEQUENCE with a length of two or three octets that says what is there (X.690, 8.1.3). */
static bool is_sequence(struct span der)
{
	struct reader r = reader_of(der);
	uint8_t tag = reader_u8(&r), form = reader_u8(&r);
	size_t n;

	if (form == 0x81)
		n = reader_u8(&r);
	else if (form == 0x82)
		n = reader_u16(&r);
	else
		n = form < 0x80 ? form : der.n;
	return tag == 0x30 && !r.bad && n == reader_left(&r);
}

static bool decode(struct span lines, uint8_t *out, struct span *der)
{
	uint8_t joined[BASE64_MAX];
	size_t n;

	if (!join_lines(lines, joined, &n) ||
	    !base64_parse(span_of(joined, n), out, PEM_CERTIFICATE_MAX, &n))
		return false;
	*der = span_of(out, n);
	return is_sequence(*der);
}

bool pem_next_certificate(struct span *text, uint8_t *out, struct span *der)
{
	struct span lines;

	while (take_to(text, begin_line, &lines) && take_to(text, end_line, &lines))
		if (decode(lines, out, der))
			return true;
	return false;
}

static bool is_blank(struct span text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\n')
			return false;
	return true;
}

bool pem_is_certificates(struct span text)
{
	uint8_t room[PEM_CERTIFICATE_MAX];
	struct span between, lines, der;

	while (take_to(&text, begin_line, &between))
		if (!is_blank(between) || !take_to(&text, end_line, &lines) ||
		    !decode(lines, room, &der))
			return false;
	return is_blank(text);
}
