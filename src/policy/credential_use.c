/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/credential_use.h"

#include <stdio.h>

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
