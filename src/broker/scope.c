/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/scope.h"

#include "base/compiler.h"
#include "broker/form.h"
#include "http/text.h"

static bool is_any_of(struct span s, const char *const *words)
{
	for (; *words; words++)
		if (span_equal(s, span_of_string(*words)))
			return true;
	return false;
}

static bool are_actions(struct span actions, enum scope_width width)
{
	static const char *const pull[] = {"pull", NULL};
	static const char *const push[] = {"pull", "push", "delete", "*", NULL};

	do {
		if (!is_any_of(http_take_until(&actions, ','), width == SCOPE_PULL ? pull : push))
			return false;
	} while (actions.n);
	return true;
}

static bool is_letter_or_digit(uint8_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_repository(struct span name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!is_letter_or_digit(name.p[i]) && !(name.p[i] && strchr("._-/:", name.p[i])))
			return false;
	return name.n > 0;
}

/*
 * "repository:library/alpine:pull"; a name may hold a port, so the actions are behind the last
 * colon.
 */
static bool is_scope(struct span scope, enum scope_width width)
{
	static const char *const types[] = {"repository", "repository(plugin)", NULL};
	struct span name = scope, type = http_take_until(&name, ':');
	const uint8_t *colon = name.n ? memrchr(name.p, ':', name.n) : NULL;
	size_t name_n = colon ? (size_t)(colon - name.p) : 0;

	/* A comma at the end would leave an action without a name behind it. */
	if (!colon || name.p[name.n - 1] == ',')
		return false;
	return is_any_of(type, types) && is_repository(span_of(name.p, name_n)) &&
	       are_actions(span_of(colon + 1, name.n - name_n - 1), width);
}

static bool are_scopes(const char *value, enum scope_width width)
{
	struct span rest = span_of_string(value);

	while (rest.n) {
		struct span scope = http_take_until(&rest, ' ');

		if (scope.n && !is_scope(scope, width))
			return false;
	}
	return true;
}

enum { KEY_SCOPE, KEY_OFFLINE_TOKEN, KEY_ACCESS_TYPE, KEY_GRANT_TYPE, KEY_OTHER };

static const char *const keys[] = {
	[KEY_SCOPE] = "scope",
	[KEY_OFFLINE_TOKEN] = "offline_token",
	[KEY_ACCESS_TYPE] = "access_type",
	[KEY_GRANT_TYPE] = "grant_type",
	[KEY_OTHER] = "service",
	"client_id",
	"account",
	"username",
	"password",
	"refresh_token",
};

static size_t key_of(const char *word)
{
	size_t i = 0;

	while (i < sg_array_len(keys) && strcmp(word, keys[i]) != 0)
		i++;
	return i;
}

static bool is_pair_within(size_t key, const char *value, enum scope_width width)
{
	static const char *const no[] = {"", "false", "0", NULL};
	static const char *const online[] = {"", "online", NULL};
	static const char *const grants[] = {"password", "refresh_token", NULL};
	struct span v = span_of_string(value);

	switch (key) {
	case KEY_SCOPE:
		return are_scopes(value, width);
	case KEY_OFFLINE_TOKEN:
		return width == SCOPE_PUSH || is_any_of(v, no);
	case KEY_ACCESS_TYPE:
		return width == SCOPE_PUSH || is_any_of(v, online);
	case KEY_GRANT_TYPE:
		return is_any_of(v, grants);
	default:
		return key < sg_array_len(keys);
	}
}

bool scope_is_within(struct span form, enum scope_width width)
{
	bool seen[sg_array_len(keys) + 1] = {false};
	struct form_pair pair;
	enum form_result result;

	while ((result = form_next(&form, &pair)) == FORM_PAIR) {
		size_t key = key_of(pair.key);

		/* Of a key that stands twice readers take the first or the last; scopes add up. */
		if (!is_pair_within(key, pair.value, width) || (key != KEY_SCOPE && seen[key]))
			return false;
		seen[key] = true;
	}
	return result == FORM_END;
}
