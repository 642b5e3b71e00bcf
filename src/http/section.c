/* SPDX-License-Identifier: Apache-2.0 */
#include "http/section.h"

#include "base/compiler.h"
#include "http/text.h"

static const char *octet_fault(uint8_t before, uint8_t c)
{
	if (c == 0)
		return "there is a NUL";
	if (before == '\r' && c != '\n')
		return "there is a CR without LF";
	if (before != '\r' && c == '\n')
		return "there is a LF without CR";
	return NULL;
}

enum http_scan http_section_scan(struct http_section *s, struct span in, struct span *line,
				 const char **why)
{
	while (s->scanned < in.n && s->scanned < HTTP_HEAD_MAX) {
		uint8_t before = s->scanned > s->line ? in.p[s->scanned - 1] : 0;
		uint8_t c = in.p[s->scanned];

		*why = octet_fault(before, c);
		if (*why)
			return HTTP_SCAN_BAD;
		s->scanned++;
		if (c != '\n')
			continue;
		*line = span_of(in.p + s->line, s->scanned - s->line - 2);
		s->line = s->scanned;
		s->lines++;
		return line->n ? HTTP_SCAN_LINE : HTTP_SCAN_WHOLE;
	}
	return s->scanned < HTTP_HEAD_MAX ? HTTP_SCAN_MORE : HTTP_SCAN_LARGE;
}

struct span http_section_line(struct span *section)
{
	struct span line = http_take_until(section, '\n');

	if (line.n)
		line.n--;
	return line;
}

const char *http_field_split(struct span line, struct span *name, struct span *value)
{
	*value = line;
	*name = http_take_until(value, ':');
	if (name->n == line.n)
		return "a field has no colon";
	if (!http_is_token(*name))
		return "the name of a field has a character it must not have";
	*value = http_trim(*value);
	return http_is_text(*value) ? NULL : "the value of a field has a control character";
}

bool http_field_is(struct span name, const char *known)
{
	if (name.n == 0 || (name.p[0] | 0x20) != known[0] || name.n != strlen(known))
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i] == '_' ? '-' : (char)name.p[i];

		if (c != known[i] && !(c >= 'A' && c <= 'Z' && (c | 0x20) == known[i]))
			return false;
	}
	return true;
}

bool http_field_may_trail(struct span name)
{
	static const char *const forbidden[] = {
		"host",
		"content-length",
		"transfer-encoding",
		"trailer",
		"te",
		"connection",
		"upgrade",
		"expect",
		"content-encoding",
		"cookie",
		"set-cookie",
		"proxy-authorization",
		"authorization",
		"range",
		"content-type",
		"content-range",
	};

	for (size_t i = 0; i < sg_array_len(forbidden); i++)
		if (http_field_is(name, forbidden[i]))
			return false;
	return true;
}

const char *http_trailers_check(struct span section)
{
	for (;;) {
		struct span line = http_section_line(&section), name, value;
		const char *why;

		if (line.n == 0)
			return NULL;
		why = http_field_split(line, &name, &value);
		if (why)
			return why;
		if (!http_field_may_trail(name))
			return "a field that frames, routes or authenticates is a trailer";
	}
}
