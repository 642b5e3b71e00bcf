/* SPDX-License-Identifier: Apache-2.0 */
/* vault_rig: a vault from the text of a policy, and requests for it. */
#ifndef SG_TESTS_VAULT_RIG_H
#define SG_TESTS_VAULT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "broker/placeholder.h"
#include "broker/vault.h"
#include "policy/policy.h"

#define SECRET "s3cr3t/Token+of=the&person"

struct rig {
	struct policy policy;
	struct vault *v;
	struct message m;
	const char *which;
};

/* `credentials`: the list as YAML, an entry a line. */
static inline void rig_begin(struct rig *r, const char *credentials)
{
	static const uint8_t seed[PLACEHOLDER_SEED] = {7};
	char text[4096];
	struct err e;

	snprintf(text, sizeof(text), "network: deny\ncredentials:\n%s", credentials);
	if (policy_parse(span_of_string(text), POLICY_YAML, "f", &r->policy, &e))
		fail_msg("%s", e.text);
	r->v = vault_new(&r->policy.credentials, seed, &e);
	if (!r->v)
		fail_msg("%s", e.text);
	message_init(&r->m);
}

static inline void rig_put(struct rig *r, size_t i, const char *printed)
{
	struct err e;

	if (vault_put_source(r->v, i, span_of_string(printed), &e))
		fail_msg("%s", e.text);
}

static inline void rig_end(struct rig *r)
{
	message_free(&r->m);
	vault_free(r->v);
	policy_free(&r->policy);
}

/* "GET https://host:port/path" and fields, name and value in turn, NULL at the end. */
static inline void rig_ask(struct rig *r, const char *method, const char *url,
			   const char *const *fields)
{
	const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');
	size_t n = strcspn(host, ":/");
	bool tls = strncmp(url, "https", 5) == 0;

	message_free(&r->m);
	assert_true(message_store(&r->m, span_of_string(method), &r->m.method));
	r->m.scheme = span_of_string(tls ? "https" : "http");
	assert_true(message_store(&r->m, span_of(host, (size_t)(path - host)), &r->m.authority));
	assert_true(message_store(&r->m, span_of_string(path), &r->m.path));
	assert_int_equal(name_parse_ascii(host, n, &r->m.host), NAME_OK);
	r->m.has_host = true;
	r->m.port = host[n] == ':' ? (uint16_t)atoi(host + n + 1) : tls ? 443 : 80;
	for (; fields && fields[0]; fields += 2)
		assert_true(
			message_add(&r->m, span_of_string(fields[0]), span_of_string(fields[1])));
}

static inline enum credential_result rig_apply(struct rig *r)
{
	return vault_apply(r->v, &r->m, &r->which);
}

/* The one field of the name; "" when there is none. Static. */
static inline const char *rig_field(const struct rig *r, const char *name)
{
	static char text[70000];
	const struct field *f = message_find(&r->m, name, NULL);

	assert_true(!f || !message_find(&r->m, name, f));
	snprintf(text, sizeof(text), "%.*s", f ? (int)f->value.n : 0,
		 f ? (const char *)f->value.p : "");
	return text;
}

static inline const char *rig_path(const struct rig *r)
{
	static char text[70000];

	snprintf(text, sizeof(text), "%.*s", (int)r->m.path.n, (const char *)r->m.path.p);
	return text;
}

/* Does the head hold the text anywhere? */
static inline bool rig_holds(const struct rig *r, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < r->m.n_fields; i++)
		if (r->m.fields[i].value.n &&
		    memmem(r->m.fields[i].value.p, r->m.fields[i].value.n, text, n))
			return true;
	return r->m.path.n && memmem(r->m.path.p, r->m.path.n, text, n);
}

#endif
