/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/search_list.h"

enum { TOGETHER_MS = 5000 }; /* a library asks the next name of its list within this */

/* When `longer` is `shorter`, a dot and more: that more. */
static bool suffix_after(const struct name *longer, const struct name *shorter, struct name *out)
{
	size_t skip = shorter->n + 1u;

	if (shorter->n == 0 || longer->n <= skip || longer->s[shorter->n] != '.' ||
	    memcmp(longer->s, shorter->s, shorter->n) != 0)
		return false;
	return name_parse_ascii(longer->s + skip, longer->n - skip, out) == NAME_OK;
}

static bool is_known(const struct search_list *l, const struct name *suffix)
{
	for (size_t i = 0; i < SEARCH_SUFFIXES; i++)
		if (name_equal(&l->suffixes[i], suffix))
			return true;
	return false;
}

static void learn(struct search_list *l, const struct name *suffix)
{
	if (is_known(l, suffix))
		return;
	l->suffixes[l->next_suffix] = *suffix;
	l->next_suffix = (l->next_suffix + 1) % SEARCH_SUFFIXES;
}

void search_list_note(struct search_list *l, const struct name *name, mono_t now)
{
	struct name suffix;

	for (size_t i = 0; i < SEARCH_RECENT; i++) {
		const struct name *other = &l->recent[i];

		if (name_equal(other, name)) {
			l->asked[i] = now;
			return;
		}
		if (mono_ms_until(l->asked[i], now) > TOGETHER_MS)
			continue;
		if (suffix_after(name, other, &suffix) || suffix_after(other, name, &suffix))
			learn(l, &suffix);
	}
	l->recent[l->next_recent] = *name;
	l->asked[l->next_recent] = now;
	l->next_recent = (l->next_recent + 1) % SEARCH_RECENT;
}

const struct name *search_list_split(const struct search_list *l, const struct name *name,
				     struct name *stem)
{
	for (size_t i = 0; i < SEARCH_SUFFIXES; i++) {
		const struct name *suffix = &l->suffixes[i];

		if (suffix->n == 0 || !name_is_below(name, suffix))
			continue;
		if (name_parse_ascii(name->s, name->n - suffix->n - 1u, stem) == NAME_OK)
			return suffix;
	}
	return NULL;
}

bool search_list_was_asked(const struct search_list *l, const struct name *name)
{
	for (size_t i = 0; i < SEARCH_RECENT; i++)
		if (name_equal(&l->recent[i], name))
			return true;
	return false;
}
