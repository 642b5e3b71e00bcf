/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/credential_use.h"

#include <stdio.h>
#include <string.h>

#include "policy/path.h"

static bool is_admitted(const struct ruleset *rs, const struct credential *c)
{
	struct destination d = {.kind = DEST_CONNECT, .port = c->port, .proto = PROTO_TCP};
	struct verdict v;
	struct name name;

	if (name_parse_ascii(c->host, strlen(c->host), &name) != NAME_OK)
		return false;
	d.name = &name;
	d.method = c->methods ? c->methods[0] : NULL;
	decide(rs, NULL, &d, &v);
	return v.allow;
}

bool credentials_note_idle(const struct ruleset *rs, struct err *note)
{
	const struct credential_list *list = &ruleset_policy(rs)->credentials;
	char text[CREDENTIAL_TEXT_MAX];

	for (size_t i = 0; i < list->n; i++) {
		const struct credential *c = &list->v[i];

		if (is_admitted(rs, c))
			continue;
		err_set(note,
			"the credential %s is never used: no rule admits %s; add it under `allow`",
			credential_describe(c, text), c->host);
		return true;
	}
	return false;
}

static bool has_method(const struct credential *c, struct span method)
{
	for (char **one = c->methods; one && *one; one++)
		if (span_equal(method, span_of_string(*one)))
			return true;
	return !c->methods;
}

static bool has_path(const struct credential *c, struct span path)
{
	char text[PATH_MAX_OCTETS + 1];
	const uint8_t *query = path.n ? memchr(path.p, '?', path.n) : NULL;
	size_t n = query ? (size_t)(query - path.p) : path.n;

	if (!c->paths)
		return true;
	if (n == 0 || n > PATH_MAX_OCTETS || memchr(path.p, 0, n))
		return false;
	memcpy(text, path.p, n);
	text[n] = 0;
	return path_matches_every_reading(c->paths, text);
}

bool credential_is_for(const struct credential *c, struct span method, struct span path)
{
	/* Its answer is the request (RFC 9110, 9.3.8), which sends no credential for that. */
	if (span_equal(method, span_of_string("TRACE")))
		return false;
	return has_method(c, method) && has_path(c, path);
}
