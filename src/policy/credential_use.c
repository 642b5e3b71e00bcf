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

const struct credential *credential_find_idle(const struct ruleset *rs)
{
	const struct credential_list *list = &ruleset_policy(rs)->credentials;

	for (size_t i = 0; i < list->n; i++)
		if (!is_admitted(rs, &list->v[i]))
			return &list->v[i];
	return NULL;
}

int credentials_refuse_start(const struct ruleset *rs, struct err *e)
{
	const struct credential_list *list = &ruleset_policy(rs)->credentials;
	const struct credential *idle = credential_find_idle(rs);
	char shown[CREDENTIAL_TEXT_MAX], also[CREDENTIAL_TEXT_MAX + 128] = "";

	if (list->n == 0)
		return 0;
	if (idle)
		snprintf(
			also, sizeof(also),
			"; besides, no rule admits %s, which a credential does not do by itself: add it "
			"under `allow`",
			idle->host);
	return err_set(
		e,
		"the credential %s needs the broker, which this version does not start; take "
		"`credentials` out of the policy%s",
		credential_describe(&list->v[0], shown), also);
}
