/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/live_policy.h"

#include "policy/change.h"

int live_policy_begin(struct live_policy *l, const struct run_options *o, struct err *e)
{
	*l = (struct live_policy){.rules = NULL};
	if (policy_copy(o->policy, &l->policy, e))
		return -1;
	l->rules = ruleset_compile(&l->policy, o->generation ? o->generation : 1, e);
	return l->rules ? 0 : -1;
}

void live_policy_free(struct live_policy *l)
{
	policy_free(&l->policy);
	ruleset_free(l->rules);
	if (l->has_sources)
		sources_free(&l->sources);
	*l = (struct live_policy){.rules = NULL};
}

struct policy_sources live_policy_sources(const struct live_policy *l, const struct run_options *o)
{
	return sources_for(l->has_sources ? &l->sources : o->sources, o->agent, o->languages);
}
