/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/suffix.h"

#include <libpsl.h>
#include <stdlib.h>

#include "policy/catalogue.h"

static int compare_word(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

static int compare_above(const void *key, const void *element)
{
	return strcmp(key, ((const struct above_suffix *)element)->domain);
}

static bool is_listed(const char *name, const char *const *list, size_t n)
{
	return bsearch(name, list, n, sizeof(*list), compare_word) != NULL;
}

/* The list's sections, the most telling first; the last is the rule `*` for unlisted domains. */
static const char *public_suffix_list(const char *name)
{
	const psl_ctx_t *psl = psl_builtin();

	if (!psl)
		return "taken for a public suffix, since libpsl was built without its list";
	if (psl_is_public_suffix2(psl, name, PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE))
		return "a public suffix (ICANN section)";
	if (psl_is_public_suffix2(psl, name, PSL_TYPE_PRIVATE | PSL_TYPE_NO_STAR_RULE))
		return "a public suffix (private section)";
	if (psl_is_public_suffix2(psl, name, PSL_TYPE_ANY))
		return "a top-level domain";
	return NULL;
}

bool suffix_is_shared(const struct name *name, struct suffix_match *m)
{
	const struct above_suffix *above;

	m->suffix = name->s;
	m->list = public_suffix_list(name->s);
	if (m->list)
		return true;
	m->list = "a shared hosting suffix";
	if (is_listed(name->s, catalogue_suffix_overlay, catalogue_n_suffix_overlay))
		return true;
	above = bsearch(name->s, catalogue_above_suffix, catalogue_n_above_suffix, sizeof(*above),
			compare_above);
	if (!above)
		return false;
	m->suffix = above->suffix;
	m->list = "a suffix below it";
	return true;
}

bool suffix_holds_encrypted_dns(const struct name *parent)
{
	for (size_t i = 0; i < catalogue_n_encrypted_dns; i++) {
		const char *listed = catalogue_encrypted_dns[i];
		size_t n = strlen(listed);

		if (n > parent->n && listed[n - parent->n - 1] == '.' &&
		    strcmp(listed + n - parent->n, parent->s) == 0)
			return true;
	}
	return suffix_is_encrypted_dns(parent);
}

bool suffix_is_encrypted_dns(const struct name *name)
{
	for (const char *s = name->s; s; s = strchr(s, '.')) {
		s += *s == '.';
		if (is_listed(s, catalogue_encrypted_dns, catalogue_n_encrypted_dns))
			return true;
	}
	return false;
}
