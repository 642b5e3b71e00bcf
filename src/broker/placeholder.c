/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/placeholder.h"

#include <stdio.h>

#include "audit/digest.h"
#include "base/base64.h"
#include "broker/shapes.h"
#include "http/text.h"

enum {
	DECODINGS_MAX = 3,
	PREFIX_N = sizeof(PLACEHOLDER_PREFIX) - 1,
	BASIC_MAX = 512,
	SCHEME_MAX = 16
};

/* With the NUL, so that no two lists of texts are the same octets; NULL is no text of a policy. */
static struct span field(const char *s)
{
	return s ? span_of(s, strlen(s) + 1) : span_of("\n", 2);
}

void placeholder_make(const uint8_t seed[PLACEHOLDER_SEED], const struct credential *c,
		      char out[PLACEHOLDER_N + 1])
{
	const uint8_t numbers[] = {(uint8_t)(c->port >> 8), (uint8_t)c->port, c->slot};
	const struct span identity[] = {
		span_of(seed, PLACEHOLDER_SEED),
		span_of(numbers, sizeof(numbers)),
		field(c->host),
		field(c->name),
		field(c->env),
	};
	struct digest d = digest_of(identity, sg_array_len(identity));
	char *at = out + PREFIX_N;

	memcpy(out, PLACEHOLDER_PREFIX, PREFIX_N);
	for (size_t i = 0; i < PLACEHOLDER_DIGEST; i++)
		at += snprintf(at, 3, "%02x", d.b[i]);
}

/* ---- Finding ---- */

static bool has_shape(const struct shapes *f, struct span text)
{
	struct shape_found found;

	return shapes_find(f, text, 0, &found) && !found.cut;
}

/* Each layer of percent-encoding adds "25" behind a `%`: a text without that has one layer at most.
 */
static struct span without_layer(struct span text, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++) {
		bool layer = i + 2 < text.n && memcmp(text.p + i, "%25", 3) == 0;

		buf_put_u8(out, text.p[i]);
		i += layer ? 2 : 0;
	}
	return buf_span(out);
}

static bool is_in_layers(const struct shapes *f, struct span text)
{
	_cleanup_free_ uint8_t *room = malloc(text.n);

	if (!room)
		return true;
	for (unsigned i = 1; i < DECODINGS_MAX; i++) {
		struct buf b = buf_of(room, text.n);

		text = without_layer(text, &b);
		if (has_shape(f, text))
			return true;
	}
	return false;
}

bool placeholder_is_in(struct span text)
{
	uint8_t room[SHAPES_MEMORY(PREFIX_N)];
	struct buf memory = buf_of(room, sizeof(room));
	struct shapes f;

	if (text.n < PREFIX_N || !shapes_make(span_of(PLACEHOLDER_PREFIX, PREFIX_N), &memory, &f))
		return false;
	return has_shape(&f, text) || (memmem(text.p, text.n, "%25", 3) && is_in_layers(&f, text));
}

/* ---- Nothing else ---- */

static bool is_one(struct span s)
{
	if (s.n != PLACEHOLDER_N || memcmp(s.p, PLACEHOLDER_PREFIX, PREFIX_N) != 0)
		return false;
	for (size_t i = PREFIX_N; i < s.n; i++)
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'f'))
			return false;
	return true;
}

/* A user such as "x-access-token" is no secret; anything longer than a word may be one. */
static bool is_user(struct span s)
{
	enum { USER_MAX = 64 };

	return s.n <= USER_MAX;
}

static bool is_basic(struct span text)
{
	uint8_t octets[BASIC_MAX];
	struct span user, password;
	size_t n;

	if (!base64_parse(text, octets, sizeof(octets), &n))
		return false;
	password = span_of(octets, n);
	user = http_take_until(&password, ':');
	return (is_one(password) && is_user(user)) || (is_one(user) && password.n == 0);
}

bool placeholder_is_all(struct span value)
{
	struct span rest = value, scheme = http_take_until(&rest, ' ');

	if (is_one(value))
		return true;
	if (http_is_word(scheme, "basic"))
		return is_basic(rest);
	return http_is_token(scheme) && scheme.n <= SCHEME_MAX && is_one(rest);
}
