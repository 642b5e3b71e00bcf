/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/json_body.h"

/* How deep brackets nest outside strings; jansson would recurse as deep. */
static size_t depth_of(struct span body)
{
	size_t depth = 0, most = 0;
	bool string = false;

	for (size_t i = 0; i < body.n; i++) {
		uint8_t c = body.p[i];

		if (string && c == '\\')
			i++;
		else if (c == '"')
			string = !string;
		else if (!string && (c == '{' || c == '['))
			most = ++depth > most ? depth : most;
		else if (!string && (c == '}' || c == ']') && depth)
			depth--;
	}
	return most;
}

json_t *json_body_parse(struct span body)
{
	json_error_t error;

	if (body.n == 0 || depth_of(body) > JSON_BODY_DEPTH_MAX)
		return NULL;
	return json_loadb((const char *)body.p, body.n, JSON_REJECT_DUPLICATES, &error);
}

static bool has_word(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

bool json_body_has_only(const json_t *object, const char *const *keys)
{
	if (!json_is_object(object))
		return false;
	/* The iterator's functions take no constant, and change nothing. */
	for (void *at = json_object_iter((json_t *)object); at;
	     at = json_object_iter_next((json_t *)object, at))
		if (!has_word(keys, json_object_iter_key(at)))
			return false;
	return true;
}

struct span json_body_text(const json_t *string)
{
	return json_is_string(string)
		       ? span_of(json_string_value(string), json_string_length(string))
		       : span_of(NULL, 0);
}
