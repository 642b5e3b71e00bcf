/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/change_entry.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/summary.h"
#include "sandbox/who.h"

/* Beyond that an entry has the policy's hash: a log of lists of a million names serves nobody. */
enum { POLICY_WRITTEN_MAX = 16 * 1024, POLICY_ANSWERED_MAX = 1024 * 1024 };

static json_t *hash_json(const char *text, size_t rules)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char hex[2 * SHA256_DIGEST_LENGTH + 1];

	SHA256((const unsigned char *)text, strlen(text), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return json_pack("{s:s, s:I}", "sha256", hex, "rules", (json_int_t)rules);
}

static json_t *policy_json(const struct policy *p, size_t most)
{
	_cleanup_free_ char *text = policy_print_json(p);

	if (!text)
		return NULL;
	return strlen(text) > most ? hash_json(text, p->n_rules) : json_loads(text, 0, NULL);
}

json_t *change_entry_policy(const struct policy *p)
{
	return policy_json(p, POLICY_WRITTEN_MAX);
}

json_t *change_entry_print(const struct change_made *c)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:I}", "action", "sandgate.policy.change",
			 "sandbox", c->sandbox, "who", who_json(c->who), "before",
			 change_entry_policy(c->before), "after", change_entry_policy(c->after),
			 "generation", (json_int_t)c->generation);
}

json_t *change_entry_answer(const struct change_made *c)
{
	_cleanup_free_ char *line = summary_policy(c->after);

	return json_pack("{s:b, s:b, s:I, s:o, s:o, s:s}", "changed", c->changed, "dry_run",
			 c->dry_run, "generation", (json_int_t)c->generation, "before",
			 policy_json(c->before, POLICY_ANSWERED_MAX), "after",
			 policy_json(c->after, POLICY_ANSWERED_MAX), "policy", line ? line : "");
}
