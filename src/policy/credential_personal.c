/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/credential_personal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "policy/strings.h"

/*
 * Which form each service takes a token in, from its own documents. With `paths` before the one
 * without: the first that is bound to a request is taken.
 */
static const struct personal {
	const char *permission, *host;
	const char *paths[3];
	const char *header; /* "Authorization", with `value`; NULL: Basic */
	const char *value;
	const char *env; /* what the service's own program starts with; NULL: nothing */
} personals[] = {
	/* docs.github.com, "About authentication to GitHub" and "Authenticating to the REST API" */
	{"github:as-you", "github.com", {NULL}, NULL, "x-access-token", NULL},
	{"github:as-you",
	 "api.github.com",
	 {NULL},
	 "Authorization",
	 "Bearer ${secret}",
	 "GH_TOKEN"},
	{"github:push", "uploads.github.com", {NULL}, "Authorization", "Bearer ${secret}", NULL},
	/* docs.gitlab.com, "Personal access tokens" and "REST API authentication" */
	{"gitlab:as-you",
	 "gitlab.com",
	 {"/api/*", NULL},
	 "Authorization",
	 "Bearer ${secret}",
	 "GITLAB_TOKEN"},
	{"gitlab:as-you", "gitlab.com", {NULL}, NULL, "oauth2", NULL},
	/* support.atlassian.com, "Using access tokens" */
	{"bitbucket:as-you", "bitbucket.org", {NULL}, NULL, "x-token-auth", NULL},
	/* huggingface.co/docs/hub, "User access tokens" */
	{"huggingface:as-you",
	 "huggingface.co",
	 {"/api/*", "*/resolve/*", NULL},
	 "Authorization",
	 "Bearer ${secret}",
	 "HF_TOKEN"},
	{"huggingface:as-you", "huggingface.co", {NULL}, NULL, "user", NULL},
};

_Static_assert(sg_array_len(personals) <= CREDENTIALS_MAX - CREDENTIALS_WRITTEN_MAX,
	       "they fit beside those that are written");

static bool make(const struct personal *p, struct credential *c)
{
	bool ok = true;

	*c = (struct credential){.port = CREDENTIAL_PORT,
				 .slot = p->header ? SLOT_HEADER : SLOT_BASIC,
				 .host = strdup(p->host),
				 .value = strdup(p->value),
				 .from = strdup("git")};
	if (p->header)
		ok = (c->name = strdup(p->header)) != NULL;
	if (p->env)
		ok = (c->env = strdup(p->env)) != NULL && ok;
	for (size_t i = 0; p->paths[i]; i++)
		ok = string_list_add(&c->paths, p->paths[i]) == 0 && ok;
	return ok && c->host && c->value && c->from;
}

/* Of the person's own, which are the first `n`. */
static bool is_spoken_of(const struct credential_list *list, size_t n, const char *host)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list->v[i].host, host) == 0)
			return true;
	return false;
}

int credentials_add_personal(char *const *on, struct credential_list *list)
{
	size_t own = list->n;

	for (size_t i = 0; on && i < sg_array_len(personals); i++) {
		struct credential *v;

		if (!string_list_has(on, personals[i].permission) ||
		    is_spoken_of(list, own, personals[i].host))
			continue;
		v = reallocarray(list->v, list->n + 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		list->v = v;
		if (!make(&personals[i], &v[list->n++]))
			return -ENOMEM;
	}
	return 0;
}

int credentials_resolve(struct policy *p)
{
	struct credential_list *list = &p->resolved.credentials;

	credential_list_free(list);
	if (credential_list_copy(&p->credentials, list) == 0 &&
	    credentials_add_personal(p->resolved.on, list) == 0)
		return 0;
	credential_list_free(list);
	return -ENOMEM;
}
