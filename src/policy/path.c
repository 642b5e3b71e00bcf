/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. The path is read as it is sent, then decoded once, twice
 * and a third time (a path that still changes after that has no reading that
 * can be trusted). Each of these is read as it stands and with its `..`
 * resolved, under each combination of the three things that servers may or may
 * not do first: take `\` for `/`, drop `;parameters`, join `//`.
 */
#include "policy/path.h"

#include <stdint.h>
#include <string.h>

#include "base/hex.h"

enum { DECODINGS_MAX = 3 };

enum reading_flags {
	READ_BACKSLASH = 1,  /* `\` is `/` */
	READ_PARAMETERS = 2, /* `;...` is no part of a segment */
	READ_JOINED = 4,     /* `//` is `/` */
	READINGS = 8,
};

struct text {
	size_t n;
	char s[PATH_MAX_OCTETS];
};

struct question {
	char *const *patterns;
	const char *query; /* after the `?`; NULL: none */
	bool every;	   /* all readings must match; else one is enough */
};

/* `*` matches any run; everything else itself. */
static bool glob_matches(const char *pattern, size_t pattern_n, const char *s, size_t n)
{
	size_t p = 0, i = 0, star = SIZE_MAX, retry = 0;

	while (i < n) {
		if (p < pattern_n && pattern[p] == '*') {
			star = p++;
			retry = i;
		} else if (p < pattern_n && pattern[p] == s[i]) {
			p++;
			i++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			i = ++retry;
		} else {
			return false;
		}
	}
	while (p < pattern_n && pattern[p] == '*')
		p++;
	return p == pattern_n;
}

static bool pattern_matches(const char *pattern, const struct text *path, const char *query)
{
	const char *mark = strchrnul(pattern, '?');

	if (!glob_matches(pattern, (size_t)(mark - pattern), path->s, path->n))
		return false;
	if (*mark == 0)
		return true;
	return query && glob_matches(mark + 1, strlen(mark + 1), query, strlen(query));
}

static bool some_pattern_matches(const struct question *q, const struct text *path)
{
	for (char *const *pattern = q->patterns; *pattern; pattern++)
		if (pattern_matches(*pattern, path, q->query))
			return true;
	return false;
}

/* Whether this reading settles the question. */
static bool settles(const struct question *q, const struct text *path)
{
	return some_pattern_matches(q, path) != q->every;
}

/* Decodes %XX once, in place; what is not followed by two digits stays. True: something changed. */
static bool decode(struct text *t)
{
	size_t to = 0;
	bool changed = false;

	for (size_t i = 0; i < t->n; i++) {
		int hi = t->s[i] == '%' && i + 2 < t->n ? hex_value((uint8_t)t->s[i + 1]) : -1;
		int lo = hi >= 0 ? hex_value((uint8_t)t->s[i + 2]) : -1;

		if (lo >= 0) {
			t->s[to++] = (char)(hi << 4 | lo);
			i += 2;
			changed = true;
		} else {
			t->s[to++] = t->s[i];
		}
	}
	t->n = to;
	return changed;
}

/* Drops the last segment of what is written so far: "/a/b" becomes "/a", "/a" becomes "". */
static size_t without_last_segment(const char *s, size_t n)
{
	while (n > 0 && s[n - 1] != '/')
		n--;
	return n > 0 ? n - 1 : 0;
}

static bool is_slash(char c, unsigned flags)
{
	return c == '/' || (c == '\\' && (flags & READ_BACKSLASH));
}

/* One segment, after its slash, is added to the reading. `last`: no slash follows it. */
static void add_segment(struct text *out, const char *s, size_t n, bool last, unsigned flags)
{
	const char *parameters = flags & READ_PARAMETERS ? memchr(s, ';', n) : NULL;

	if (parameters)
		n = (size_t)(parameters - s);
	if (n == 2 && s[0] == '.' && s[1] == '.')
		out->n = without_last_segment(out->s, out->n);
	else if (!(n == 1 && s[0] == '.') && !(n == 0 && (flags & READ_JOINED))) {
		out->s[out->n++] = '/';
		memcpy(out->s + out->n, s, n);
		out->n += n;
		return;
	}
	if (last)
		out->s[out->n++] = '/';
}

/* The path with its dot segments resolved (RFC 3986, 5.2.4) under `flags`. Never longer than it. */
static void resolve(const struct text *path, unsigned flags, struct text *out)
{
	size_t from = 1;

	out->n = 0;
	for (size_t i = 1; i <= path->n; i++) {
		if (i < path->n && !is_slash(path->s[i], flags))
			continue;
		add_segment(out, path->s + from, i - from, i == path->n, flags);
		from = i + 1;
	}
}

/* Whether one of the readings of the path at this depth of decoding settles the question. */
static bool some_reading_settles(const struct question *q, const struct text *path)
{
	struct text resolved;

	if (settles(q, path))
		return true;
	for (unsigned flags = 0; flags < READINGS; flags++) {
		resolve(path, flags, &resolved);
		if (settles(q, &resolved))
			return true;
	}
	return false;
}

/* Nothing stands in it that any reader takes for anything else: most paths are so. */
static bool has_one_reading(const struct text *path)
{
	for (size_t i = 0; i < path->n; i++) {
		char c = path->s[i], after = i + 1 < path->n ? path->s[i + 1] : 0;

		if (c == '%' || c == '\\' || c == ';' || c == 0 ||
		    (c == '/' && (after == '/' || after == '.')))
			return false;
	}
	return true;
}

/* True when some reading settles it, or when the path cannot be read. */
static bool is_settled(struct question *q, const char *target)
{
	const char *query = strchr(target, '?');
	struct text path = {.n = query ? (size_t)(query - target) : strlen(target)};

	if (target[0] != '/' || path.n > PATH_MAX_OCTETS)
		return true;
	memcpy(path.s, target, path.n);
	q->query = query ? query + 1 : NULL;
	if (has_one_reading(&path))
		return settles(q, &path);
	for (unsigned i = 0; i <= DECODINGS_MAX; i++) {
		if (memchr(path.s, 0, path.n) || some_reading_settles(q, &path))
			return true;
		if (!decode(&path))
			return false;
	}
	return true;
}

bool path_matches_every_reading(char *const *patterns, const char *target)
{
	struct question q = {.patterns = patterns, .every = true};

	return !is_settled(&q, target);
}

bool path_matches_some_reading(char *const *patterns, const char *target)
{
	struct question q = {.patterns = patterns, .every = false};

	return is_settled(&q, target);
}
