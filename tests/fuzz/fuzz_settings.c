/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that parse can be changed key by key, and mean the same but for that key. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sandbox/settings/settings.h"

static void check_key(struct span text, const struct settings *s, size_t key)
{
	char *value = settings_value_text(s, key), *again;
	char *edited = value ? settings_edit(text, "f", key, value, &(struct err){0}) : NULL;
	struct settings after;

	/* Written in a way that cannot be changed, or a word of a list that has a comma. */
	if (edited) {
		settings_init(&after);
		if (settings_parse(span_of_string(edited), "f", SETTING_PERSON, &after,
				   &(struct err){0}))
			abort();
		again = settings_value_text(&after, key);
		if (!again || strcmp(again, value) != 0 || after.from[key] != SETTING_PERSON)
			abort();
		free(again);
		settings_free(&after);
	}
	free(edited);
	free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settings s, usual;
	struct err e;

	settings_init(&s);
	settings_init(&usual);
	if (settings_parse(span_of(data, size), "f", SETTING_PERSON, &s, &e)) {
		if (memcmp(&s, &usual, sizeof(s)) != 0 || strncmp(e.text, "f:", 2) != 0)
			abort();
		return 0;
	}
	for (size_t key = 0; key < settings_n_keys; key++)
		if (settings_key(key))
			check_key(span_of(data, size), &s, key);
	settings_free(&s);
	return 0;
}
