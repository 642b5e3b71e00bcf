/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/carrier.h"

#include "base/compiler.h"
#include "base/hex.h"
#include "http/text.h"

/* Those of the model APIs, of code hosts and of AWS. */
static const char *const headers[] = {
	"authorization",
	"x-api-key",
	"x-goog-api-key",
	"api-key",
	"cookie",
	"x-auth-token",
	"private-token",
	"job-token",
	"x-access-token",
	"x-gitlab-token",
	"x-amz-security-token",
	"x-goog-iam-authorization-token",
};

static const char *const keys[] = {
	"key",
	"api_key",
	"api-key",
	"apikey",
	"access_token",
	"access-token",
	"private_token",
	"job_token",
	"x-api-key",
	"x-goog-api-key",
	"authorization",
	"x-amz-algorithm",
	"x-amz-credential",
	"x-amz-signature",
	"x-amz-security-token",
	"x-goog-credential",
	"x-goog-signature",
};

static uint8_t folded(uint8_t c)
{
	return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

bool carrier_is_same_name(struct span a, const char *b)
{
	size_t n = strlen(b);

	if (a.n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (folded(a.p[i]) != folded((uint8_t)b[i]))
			return false;
	return true;
}

bool carrier_is_header(struct span name)
{
	for (size_t i = 0; i < sg_array_len(headers); i++)
		if (carrier_is_same_name(name, headers[i]))
			return true;
	return false;
}

/* ---- Queries ---- */

enum { KEY_MAX = 64 };

/* Decoded once; a key that is longer than any that is known is not looked at. False: it is that. */
static bool decode_key(struct span key, uint8_t out[KEY_MAX], size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < key.n; i++) {
		int hi = key.p[i] == '%' && i + 2 < key.n ? hex_value(key.p[i + 1]) : -1;
		int lo = hi >= 0 ? hex_value(key.p[i + 2]) : -1;

		if (*n == KEY_MAX)
			return false;
		out[(*n)++] = lo >= 0 ? (uint8_t)(hi << 4 | lo) : key.p[i];
		i += lo >= 0 ? 2 : 0;
	}
	return true;
}

bool carrier_is_same_key(struct span key, const char *name)
{
	uint8_t text[KEY_MAX];
	size_t n;

	return decode_key(key, text, &n) && carrier_is_same_name(span_of(text, n), name);
}

bool carrier_is_key(struct span key)
{
	for (size_t i = 0; i < sg_array_len(keys); i++)
		if (carrier_is_same_key(key, keys[i]))
			return true;
	return false;
}

bool query_next(struct span query, size_t *at, struct query_piece *out)
{
	struct span rest, value;
	size_t n = 0;

	if (*at >= query.n)
		return false;
	rest = http_span_from(query, *at);
	while (n < rest.n && rest.p[n] != '&' && rest.p[n] != ';')
		n++;
	*at += n + 1;
	value = out->all = span_of(rest.p, n);
	out->key = http_take_until(&value, '=');
	out->value = value;
	return true;
}

struct span query_of(struct span path)
{
	http_take_until(&path, '?');
	return path;
}

void query_put_encoded(struct buf *b, struct span octets)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < octets.n; i++) {
		uint8_t c = octets.p[i];

		if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		    (c && strchr("-._~", c))) {
			buf_put_u8(b, c);
			continue;
		}
		buf_put_u8(b, '%');
		buf_put_u8(b, (uint8_t)hex[c >> 4]);
		buf_put_u8(b, (uint8_t)hex[c & 15]);
	}
}
