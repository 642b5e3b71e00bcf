/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/authorities.h"

#include <stdlib.h>
#include <string.h>

#include "policy/strings.h"

struct authorities {
	const char *sandbox;
	unsigned days;
	struct authority *v[AUTHORITIES_MAX];
	char **names[AUTHORITIES_MAX]; /* that each was made for, owned; NULL: any */
	size_t n;
};

struct authorities *authorities_new(const char *sandbox, unsigned days)
{
	struct authorities *all = calloc(1, sizeof(*all));

	if (all) {
		all->sandbox = sandbox;
		all->days = days;
	}
	return all;
}

static void drop(struct authorities *all, size_t i)
{
	authority_free(all->v[i]);
	string_list_free(all->names[i]);
	all->n--;
	memmove(&all->v[i], &all->v[i + 1], (all->n - i) * sizeof(struct authority *));
	memmove(&all->names[i], &all->names[i + 1], (all->n - i) * sizeof(char **));
}

void authorities_free(struct authorities *all)
{
	while (all && all->n)
		drop(all, all->n - 1);
	free(all);
}

/* ---- One more ---- */

enum { DAY = 24 * 60 * 60, RENEW_SHARE = 8 };

/* Clients that begin now will go on with it for a while. */
static bool is_lasting(const struct authorities *all, size_t i)
{
	return authority_end(all->v[i]) - time(NULL) > (time_t)all->days * DAY / RENEW_SHARE;
}

static bool is_covered(const struct authorities *all, const char *pattern)
{
	for (size_t i = 0; i < all->n; i++)
		if (is_lasting(all, i) && authority_covers(all->v[i], pattern))
			return true;
	return false;
}

static bool is_any_covered(const struct authorities *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (is_lasting(all, i) && !all->names[i])
			return true;
	return false;
}

static void drop_expired(struct authorities *all)
{
	for (size_t i = all->n; i-- > 0;)
		if (authority_end(all->v[i]) <= time(NULL))
			drop(all, i);
}

static bool are_covered(const struct authorities *all, char *const *names)
{
	bool covered = names != NULL;

	for (; covered && *names; names++)
		covered = is_covered(all, *names);
	return covered;
}

/* What no authority covers, and the names of the one that makes room for it, if one does. */
static char **names_for_another(const struct authorities *all, char *const *names)
{
	char **another = NULL;
	int r = 0;

	for (; *names && r == 0; names++)
		if (!is_covered(all, *names))
			r = string_list_add(&another, *names);
	for (char **old = all->n == AUTHORITIES_MAX ? all->names[1] : NULL; old && *old && r == 0;
	     old++)
		r = string_list_add(&another, *old);
	if (r == 0)
		return another;
	string_list_free(another);
	return NULL;
}

/* Does it fit in the place of the one that makes room? */
static bool fits(const struct authorities *all, const struct authority *another)
{
	size_t n = authority_certificate(another).n;

	for (size_t i = 0; i < all->n; i++)
		if (i != 1 || all->n < AUTHORITIES_MAX)
			n += authority_certificate(all->v[i]).n;
	return n <= AUTHORITIES_TEXT_MAX;
}

/* Takes over the names. */
static int add(struct authorities *all, char **names, struct err *e)
{
	struct authority *a = authority_new(all->sandbox, names, all->days, e);

	if (!a) {
		string_list_free(names);
		return -1;
	}
	if (names && !fits(all, a)) {
		authority_free(a);
		string_list_free(names);
		return add(all, NULL, e);
	}
	if (all->n == AUTHORITIES_MAX)
		drop(all, 1);
	all->v[all->n] = a;
	all->names[all->n++] = names;
	return 1;
}

int authorities_cover(struct authorities *all, char *const *names, struct err *e)
{
	char **another;

	if (is_any_covered(all) || (all->n && are_covered(all, names)))
		return 0;
	drop_expired(all);
	if (!names || !names[0])
		return add(all, NULL, e);
	another = names_for_another(all, names);
	if (another)
		return add(all, another, e);
	return err_set(e, "cannot make the sandbox's authority: out of memory");
}

/* ---- All of them ---- */

struct authority *authorities_find(const struct authorities *all, const struct name *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (authority_end(all->v[i]) > time(NULL) && authority_may_sign(all->v[i], name))
			return all->v[i];
	return all->v[0];
}

char *authorities_certificates(const struct authorities *all)
{
	size_t n = 0, at = 0;
	char *text;

	for (size_t i = 0; i < all->n; i++)
		n += authority_certificate(all->v[i]).n;
	text = malloc(n + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < all->n; i++) {
		struct span pem = authority_certificate(all->v[i]);

		memcpy(text + at, pem.p, pem.n);
		at += pem.n;
	}
	text[at] = 0;
	return text;
}
