/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hook_policy.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/name_list.h"

/* Its items by spaces: podman takes commas of --annotation for itself. NULL: there is none. */
static const char *const *split(const char *text, struct name_list *out)
{
	_cleanup_free_ char *copy = text ? strdup(text) : NULL;
	char *rest = NULL;

	for (char *item = copy ? strtok_r(copy, " ", &rest) : NULL; item;
	     item = strtok_r(NULL, " ", &rest))
		name_list_add(out, item);
	out->failed = out->failed || (text && !copy);
	return (const char *const *)out->v;
}

int hook_policy_build(const struct oci_state *s, const struct sources *sources,
		      struct run_policy *out, struct err *e)
{
	const char *policy = s->say[OCI_POLICY];
	struct name_list allow = {0}, deny = {0}, publish = {0};
	struct policy_words words = {
		.net = *policy == '/' ? NULL : policy,
		.policy_file = *policy == '/' ? policy : NULL,
		.allow = split(s->say[OCI_ALLOW], &allow),
		.deny = split(s->say[OCI_DENY], &deny),
		.publish = split(s->say[OCI_PUBLISH], &publish),
		.unattended = true,
		.no_project = true,
	};
	int rc = allow.failed || deny.failed || publish.failed ? err_set(e, "out of memory") : 0;

	if (rc == 0 && run_policy_parse(&words, sources, out, e))
		rc = err_prefix(e, "the container's annotations");
	name_list_free(allow.v);
	name_list_free(deny.v);
	name_list_free(publish.v);
	return rc;
}
