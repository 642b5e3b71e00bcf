/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/canonical.h"

enum { DEPTH_MAX = 16 };

/* Only what has one text: no reals, keys of ASCII (of which the order is beyond doubt). */
static bool is_plain(const json_t *value, unsigned depth)
{
	const char *key;
	json_t *inner;
	size_t i;

	if (depth > DEPTH_MAX || json_is_real(value))
		return false;
	json_array_foreach((json_t *)value, i, inner)
	{
		if (!is_plain(inner, depth + 1))
			return false;
	}
	if (!json_is_object(value))
		return true;
	json_object_foreach((json_t *)value, key, inner)
	{
		for (const char *c = key; *c; c++)
			if (*c < 0x20 || *c > 0x7e)
				return false;
		if (!is_plain(inner, depth + 1))
			return false;
	}
	return true;
}

/* jansson leaves DEL as it is; it can only stand in a string. Consumes `text`. */
static char *escape_del(char *text, size_t *n)
{
	size_t dels = 0, at = 0;
	char *out;

	for (size_t i = 0; i < *n; i++)
		dels += text[i] == 0x7f;
	if (!dels)
		return text;
	out = malloc(*n + 5 * dels + 1);
	for (size_t i = 0; out && i < *n; i++) {
		if (text[i] != 0x7f) {
			out[at++] = text[i];
			continue;
		}
		memcpy(out + at, "\\u007F", 6);
		at += 6;
	}
	free(text);
	if (out)
		out[at] = 0;
	*n = at;
	return out;
}

char *canonical_print(const json_t *value, size_t *n)
{
	char *text;

	if (!is_plain(value, 0))
		return NULL;
	text = json_dumps(value,
			  JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	if (!text)
		return NULL;
	*n = strlen(text);
	return escape_del(text, n);
}

json_t *canonical_parse(struct span text, struct err *e)
{
	json_error_t why;
	json_t *value = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, &why);
	char *again = NULL;
	size_t n = 0;

	if (value && json_is_object(value))
		again = canonical_print(value, &n);
	if (again && span_equal(text, span_of(again, n))) {
		free(again);
		return value;
	}
	if (!value)
		err_set(e, "not JSON: %s", why.text);
	else
		err_set(e, "JSON, but not in the canonical form");
	free(again);
	json_decref(value);
	return NULL;
}
