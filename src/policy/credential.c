/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/credential.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/strings.h"

static void refresh_free(struct credential_refresh *r)
{
	if (!r)
		return;
	free(r->url);
	free(r->client_id);
	free(r->client_secret);
	free(r->scope);
	free(r);
}

void credential_clear(struct credential *c)
{
	free(c->host);
	free(c->name);
	free(c->value);
	string_list_free(c->methods);
	string_list_free(c->paths);
	free(c->from);
	free(c->env);
	refresh_free(c->refresh);
	*c = (struct credential){0};
}

void credential_list_free(struct credential_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		credential_clear(&list->v[i]);
	free(list->v);
	*list = (struct credential_list){0};
}

/* ---- Copies: every pointer is set, so that what was made may be freed ---- */

static bool copy_text(char **out, const char *from)
{
	*out = from ? strdup(from) : NULL;
	return !*out == !from;
}

static bool copy_strings(char ***out, char *const *from)
{
	*out = from ? string_list_copy(from) : NULL;
	return !*out == !from;
}

static bool copy_refresh(struct credential_refresh **out, const struct credential_refresh *from)
{
	struct credential_refresh *r;
	bool ok;

	*out = r = from ? calloc(1, sizeof(*r)) : NULL;
	if (!r)
		return !from;
	ok = copy_text(&r->url, from->url);
	ok = copy_text(&r->client_id, from->client_id) && ok;
	ok = copy_text(&r->client_secret, from->client_secret) && ok;
	return copy_text(&r->scope, from->scope) && ok;
}

static bool copy_one(const struct credential *from, struct credential *to)
{
	bool ok;

	*to = (struct credential){.port = from->port, .slot = from->slot, .pin = from->pin};
	ok = copy_text(&to->host, from->host);
	ok = copy_text(&to->name, from->name) && ok;
	ok = copy_text(&to->value, from->value) && ok;
	ok = copy_strings(&to->methods, from->methods) && ok;
	ok = copy_strings(&to->paths, from->paths) && ok;
	ok = copy_text(&to->from, from->from) && ok;
	ok = copy_text(&to->env, from->env) && ok;
	return copy_refresh(&to->refresh, from->refresh) && ok;
}

int credential_list_copy(const struct credential_list *from, struct credential_list *to)
{
	*to = (struct credential_list){0};
	if (from->n == 0)
		return 0;
	to->v = calloc(from->n, sizeof(*to->v));
	if (!to->v)
		return -ENOMEM;
	for (size_t i = 0; i < from->n; i++) {
		to->n++;
		if (!copy_one(&from->v[i], &to->v[i])) {
			credential_list_free(to);
			return -ENOMEM;
		}
	}
	return 0;
}

/* ---- The same ---- */

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool are_same_texts(char *const *a, char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return !*a && !*b;
}

static bool is_same_refresh(const struct credential_refresh *a, const struct credential_refresh *b)
{
	if (!a || !b)
		return a == b;
	return is_same_text(a->url, b->url) && is_same_text(a->client_id, b->client_id) &&
	       is_same_text(a->client_secret, b->client_secret) && is_same_text(a->scope, b->scope);
}

bool credential_is_same(const struct credential *a, const struct credential *b)
{
	return a->port == b->port && a->slot == b->slot && a->pin == b->pin &&
	       is_same_text(a->host, b->host) && is_same_text(a->name, b->name) &&
	       is_same_text(a->value, b->value) && are_same_texts(a->methods, b->methods) &&
	       are_same_texts(a->paths, b->paths) && is_same_text(a->from, b->from) &&
	       is_same_text(a->env, b->env) && is_same_refresh(a->refresh, b->refresh);
}

static bool has(const struct credential_list *list, const struct credential *c)
{
	for (size_t i = 0; i < list->n; i++)
		if (credential_is_same(&list->v[i], c))
			return true;
	return false;
}

static int append(struct credential_list *list, const struct credential *c)
{
	struct credential *v = reallocarray(list->v, list->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	list->v = v;
	if (copy_one(c, &v[list->n])) {
		list->n++;
		return 0;
	}
	credential_clear(&v[list->n]);
	return -ENOMEM;
}

int credential_list_grow(struct credential_list *list, const struct credential_list *from)
{
	size_t before = list->n;

	for (size_t i = 0; i < from->n; i++) {
		if (has(list, &from->v[i]) || append(list, &from->v[i]) == 0)
			continue;
		while (list->n > before)
			credential_clear(&list->v[--list->n]);
		return -ENOMEM;
	}
	return 0;
}

/* ---- Token endpoints ---- */

bool credential_refresh_server(const struct credential_refresh *r, struct name *out)
{
	static const char scheme[] = "https://";
	const char *host = r->url + sizeof(scheme) - 1;

	return strncmp(r->url, scheme, sizeof(scheme) - 1) == 0 &&
	       name_parse_ascii(host, strcspn(host, "/"), out) == NAME_OK;
}

bool credential_list_refreshes_at(const struct credential_list *list, const struct name *name,
				  uint16_t port)
{
	struct name server;

	for (size_t i = 0; i < list->n && port == CREDENTIAL_PORT; i++) {
		const struct credential_refresh *r = list->v[i].refresh;

		if (r && credential_refresh_server(r, &server) && name_equal(&server, name))
			return true;
	}
	return false;
}

/* ---- Places ---- */

static const char *header_of(const struct credential *c)
{
	return c->slot == SLOT_HEADER ? c->name : "Authorization";
}

static bool same_field(const char *a, const char *b)
{
	while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool is_in_query(const struct credential *c)
{
	return c->slot == SLOT_QUERY;
}

bool credential_has_same_place(const struct credential *a, const struct credential *b)
{
	if (strcmp(a->host, b->host) != 0 || a->port != b->port || is_in_query(a) != is_in_query(b))
		return false;
	return is_in_query(a) ? strcmp(a->name, b->name) == 0
			      : same_field(header_of(a), header_of(b));
}

char *credential_describe(const struct credential *c, char out[CREDENTIAL_TEXT_MAX])
{
	char port[8] = "";

	if (c->port != CREDENTIAL_PORT)
		snprintf(port, sizeof(port), ":%u", c->port);
	snprintf(out, CREDENTIAL_TEXT_MAX, "%s%s at %s%s", is_in_query(c) ? "?" : "",
		 is_in_query(c) ? c->name : header_of(c), c->host, port);
	return out;
}
