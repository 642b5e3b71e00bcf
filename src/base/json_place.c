/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_place.h"

#include <stdbool.h>
#include <string.h>

/* Each takes what it has read off the front; at the end of the text it takes nothing. */

static bool is_at(const struct span *s, char c)
{
	return s->n > 0 && s->p[0] == (uint8_t)c;
}

static void skip(struct span *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

static void skip_space(struct span *s)
{
	while (s->n > 0 && memchr(" \t\r\n", s->p[0], 4))
		skip(s, 1);
}

/* What is between the quotation marks. */
static struct span take_string(struct span *s)
{
	struct span out = {s->p + 1, 0};

	skip(s, 1);
	while (s->n > 0 && !is_at(s, '"')) {
		size_t n = is_at(s, '\\') && s->n > 1 ? 2 : 1;

		out.n += n;
		skip(s, n);
	}
	if (s->n > 0)
		skip(s, 1);
	return out;
}

/* An object or array, its marks counted: within a string they are none. */
static void skip_nested(struct span *s)
{
	size_t depth = 0;

	do {
		if (is_at(s, '"')) {
			take_string(s);
			continue;
		}
		depth += is_at(s, '{') || is_at(s, '[');
		depth -= is_at(s, '}') || is_at(s, ']');
		skip(s, 1);
	} while (s->n > 0 && depth > 0);
}

static struct span take_value(struct span *s)
{
	struct span out;

	skip_space(s);
	out = *s;
	if (is_at(s, '"'))
		take_string(s);
	else if (is_at(s, '{') || is_at(s, '['))
		skip_nested(s);
	else
		while (s->n > 0 && !memchr(",}] \t\r\n", s->p[0], 7))
			skip(s, 1);
	out.n -= s->n;
	return out;
}

static struct span find_member(struct span object, const char *wanted)
{
	struct span s = object;

	skip_space(&s);
	if (!is_at(&s, '{'))
		return (struct span){NULL, 0};
	do {
		struct span key, value;

		skip(&s, 1);
		skip_space(&s);
		if (!is_at(&s, '"'))
			break;
		key = take_string(&s);
		skip_space(&s);
		if (!is_at(&s, ':'))
			break;
		skip(&s, 1);
		value = take_value(&s);
		if (span_equal(key, span_of_string(wanted)))
			return value;
		skip_space(&s);
	} while (is_at(&s, ','));
	return (struct span){NULL, 0};
}

struct span json_place_find(struct span text, const char *const *keys)
{
	for (; *keys && text.p; keys++)
		text = find_member(text, *keys);
	return text;
}
