/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hook_precreate.h"

#include <stdlib.h>
#include <sys/random.h>

#include "broker/placeholder.h"
#include "cli/container_trust.h"
#include "cli/hook_policy.h"
#include "sandbox/engine/environment.h"
#include "sandbox/engine/oci_config.h"

/* Of whatever seed: a broker knows a placeholder by its shape. NULL: nothing is to be added. */
static char **choose_variables(const struct oci_state *s)
{
	uint8_t seed[PLACEHOLDER_SEED];
	struct sources sources;
	struct run_policy p;
	char **env = NULL;
	struct err later;

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed) || sources_read(&sources, &later))
		return NULL;
	if (hook_policy_build(s, &sources, &p, &later) == 0) {
		if (container_trust_is_wanted(&p, &sources))
			env = environment_build_additions(policy_credentials(&p.policy), seed);
		run_policy_free(&p);
	}
	sources_free(&sources);
	return env;
}

/* What `sandgate run` starts has its variables and a filter of its own. */
static bool is_for_us(struct span config, struct oci_state *s)
{
	struct err later;

	if (oci_config_words(config, s, &later))
		return false;
	return s->say[OCI_POLICY] != NULL;
}

char *hook_precreate(struct span config, struct err *e)
{
	struct oci_additions a = {0};
	struct oci_state s;
	char **env = NULL, *text;

	if (is_for_us(config, &s)) {
		a.env = env = choose_variables(&s);
		a.no_vsock = true;
	}
	text = oci_config_add(config, &a, e);
	environment_free(env);
	oci_state_free(&s);
	return text;
}
