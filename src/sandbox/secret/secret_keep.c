/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/secret/secret_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/locked.h"
#include "policy/secret_from.h"
#include "sandbox/secret/secret_source.h"

/* The variable that a source names, or NULL. */
static const char *variable_of(const char *from)
{
	enum secret_kind kind;
	const char *name;
	struct err e;

	if (!from || secret_from_parse(from, &kind, &name, &e) || kind != SECRET_ENV)
		return NULL;
	return name;
}

bool secret_keep_has_kind(const char *from)
{
	return variable_of(from) != NULL;
}

static const struct kept *find(const struct secret_keep *k, const char *name)
{
	for (size_t i = 0; i < k->n_kept; i++)
		if (strcmp(k->v[i].name, name) == 0)
			return &k->v[i];
	return NULL;
}

/* ---- Taking ---- */

static int name_one(struct secret_keep *k, const char *from, struct err *e)
{
	const char *name = variable_of(from), *value = name ? getenv(name) : NULL;
	struct kept *v = &k->v[k->n_kept];

	if (!value || find(k, name))
		return 0;
	*v = (struct kept){.name = strdup(name), .at = k->n, .n = strlen(value)};
	if (!v->name)
		return err_set(e, "the variables that are secrets: out of memory");
	k->n_kept++;
	k->n += v->n;
	return 0;
}

static int name_all(struct secret_keep *k, const struct credential_list *list, struct err *e)
{
	for (size_t i = 0; i < list->n && i < CREDENTIALS_MAX; i++) {
		const struct credential *c = &list->v[i];

		if (name_one(k, c->from, e) ||
		    (c->refresh && name_one(k, c->refresh->client_secret, e)))
			return -1;
	}
	return 0;
}

/* The environment is the memory that /proc shows: what stands there is wiped, not only its name. */
static void move_one(struct secret_keep *k, const struct kept *v)
{
	char *value = getenv(v->name);

	memcpy(k->text + v->at, value, v->n);
	explicit_bzero(value, v->n);
	unsetenv(v->name);
}

int secret_keep_take(struct secret_keep *k, const struct credential_list *list, const char *other,
		     struct err *e)
{
	*k = (struct secret_keep){0};
	if (name_all(k, list, e) || name_one(k, other, e))
		return -1;
	if (k->n_kept == 0)
		return 0;
	k->text = locked_new(k->n, e);
	if (!k->text)
		return -1;
	for (size_t i = 0; i < k->n_kept; i++)
		move_one(k, &k->v[i]);
	return 0;
}

/* ---- Giving ---- */

static const char *why_not(const struct kept *v)
{
	if (!v)
		return "the variable is not set; set it where sandgate is started";
	if (v->n == 0)
		return "the variable is empty";
	return v->n > SECRET_SOURCE_MAX ? "the variable holds more than a secret may" : NULL;
}

int secret_keep_open(const struct secret_keep *k, const char *from, struct err *e)
{
	const char *name = variable_of(from);
	const struct kept *v = name ? find(k, name) : NULL;
	const char *why = why_not(v);
	int ends[2];
	ssize_t n;

	if (why)
		return err_set(e, "%s: %s", from, why);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return err_set(e, "%s: %s", from, err_why(errno));
	n = write(ends[1], k->text + v->at, v->n);
	close(ends[1]);
	if (n == (ssize_t)v->n)
		return ends[0];
	close(ends[0]);
	return err_set(e, "%s: the pipe to the broker has no room for it", from);
}

void secret_keep_free(struct secret_keep *k)
{
	locked_free(k->text, k->n);
	for (size_t i = 0; i < k->n_kept; i++)
		free(k->v[i].name);
	*k = (struct secret_keep){0};
}
