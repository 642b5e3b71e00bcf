/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/secret_text.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>

/* ---- JSON that leaves nothing behind ---- */

static void free_wiped(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

/* What was allocated before is malloc's as well, so it may be set at any time. */
json_t *secret_json_parse(struct span text)
{
	json_t *o;

	json_set_alloc_funcs(malloc, free_wiped);
	o = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

/* ---- Times ---- */

static bool parse_offset(const char *s, int64_t *seconds)
{
	unsigned hours, minutes;
	int n = 0;

	*seconds = 0;
	if ((*s | 0x20) == 'z' && !s[1])
		return true;
	if ((*s != '+' && *s != '-') || sscanf(s + 1, "%2u:%2u%n", &hours, &minutes, &n) != 2 ||
	    n != 5 || s[6] || hours > 23 || minutes > 59)
		return false;
	*seconds = (int64_t)(hours * 60 + minutes) * (*s == '-' ? -60 : 60);
	return true;
}

static bool has_shape(const char *text)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";

	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9'
				    : (text[i] & ~0x20) != (shape[i] & ~0x20))
			return false;
	return true;
}

bool secret_time_parse(const char *text, int64_t *out)
{
	struct tm t = {0};
	int64_t offset;
	const char *rest = text + 19;

	if (!has_shape(text) || sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &t.tm_year, &t.tm_mon,
				       &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec) != 6)
		return false;
	if (t.tm_mon < 1 || t.tm_mon > 12 || t.tm_mday < 1 || t.tm_mday > 31 || t.tm_hour > 23 ||
	    t.tm_min > 59 || t.tm_sec > 60)
		return false;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (!parse_offset(rest, &offset))
		return false;
	t.tm_year -= 1900;
	t.tm_mon -= 1;
	*out = timegm(&t) - offset;
	return true;
}

static int read_time(const json_t *value, int64_t *out, struct err *e)
{
	if (!value || json_is_null(value))
		return 0;
	if (json_is_integer(value) && json_integer_value(value) > 0) {
		*out = json_integer_value(value);
		return 0;
	}
	if (json_is_string(value) && secret_time_parse(json_string_value(value), out))
		return 0;
	return err_set(e,
		       "it does not say when the secret expires in a way that is known; write the "
		       "seconds since 1970, or \"2026-01-31T12:00:00Z\"");
}

/* ---- Texts ---- */

static bool keep(struct buf *room, struct span s, struct span *out)
{
	*out = span_of(room->p + room->n, s.n);
	buf_put_span(room, s);
	return !room->full;
}

static bool keep_string(struct buf *room, const json_t *o, const char *key, struct span *out)
{
	const json_t *value = json_object_get(o, key);

	return json_is_string(value) &&
	       keep(room, span_of(json_string_value(value), json_string_length(value)), out);
}

static int read_token(const json_t *o, struct buf *room, struct secret_text *out, struct err *e)
{
	if (!keep_string(room, o, "token", &out->value))
		return err_set(e, "its JSON has no string `token`");
	return read_time(json_object_get(o, "expires_at"), &out->expires_at, e);
}

static int read_keys(const json_t *o, struct buf *room, struct secret_text *out, struct err *e)
{
	if (!keep_string(room, o, "AccessKeyId", &out->key_id) ||
	    !keep_string(room, o, "SecretAccessKey", &out->value))
		return err_set(e, "its JSON has no strings `AccessKeyId` and `SecretAccessKey`");
	if (json_object_get(o, "SessionToken") &&
	    !keep_string(room, o, "SessionToken", &out->session))
		return err_set(e, "its `SessionToken` is no string");
	return read_time(json_object_get(o, "Expiration"), &out->expires_at, e);
}

static struct span cut_at_colon(struct span *rest)
{
	const uint8_t *colon = memchr(rest->p, ':', rest->n);
	struct span s = colon ? span_of(rest->p, (size_t)(colon - rest->p)) : *rest;

	*rest = colon ? span_of(colon + 1, rest->n - s.n - 1) : span_of(rest->p + rest->n, 0);
	return s;
}

static int read_plain_keys(struct span text, struct secret_text *out, struct err *e)
{
	out->key_id = cut_at_colon(&text);
	out->value = cut_at_colon(&text);
	out->session = text;
	if (out->key_id.n && out->value.n)
		return 0;
	return err_set(e,
		       "it is neither KEYID:SECRET[:SESSION] nor the JSON of credential_process");
}

static int read_plain(struct span text, bool aws, struct buf *room, struct secret_text *out,
		      struct err *e)
{
	if (text.n && text.p[text.n - 1] == '\n')
		text.n--;
	if (text.n && text.p[text.n - 1] == '\r')
		text.n--;
	if (text.n == 0)
		return err_set(e, "it is empty");
	if (memchr(text.p, '\n', text.n))
		return err_set(e, "it has more than one line");
	if (memchr(text.p, 0, text.n))
		return err_set(e, "it holds a NUL");
	if (!keep(room, text, &out->value))
		return err_set(e, "it is too long");
	return aws ? read_plain_keys(out->value, out, e) : 0;
}

int secret_text_parse(struct span printed, bool aws, struct buf *room, struct secret_text *out,
		      struct err *e)
{
	json_t *o;
	int rc;

	*out = (struct secret_text){0};
	if (printed.n == 0 || printed.p[0] != '{')
		return read_plain(printed, aws, room, out, e);
	o = secret_json_parse(printed);
	if (!o)
		return err_set(e, "it begins with `{` and is no JSON object");
	rc = aws ? read_keys(o, room, out, e) : read_token(o, room, out, e);
	json_decref(o);
	return rc;
}
