/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources: everything beside a person's own words that says what a sandbox may do, read from its files: the
 * catalogue with the administrator's overrides, the organisation's signed policy, the settings.
 */
#ifndef SG_SANDBOX_SOURCES_H
#define SG_SANDBOX_SOURCES_H

#include "policy/permission.h"
#include "sandbox/settings.h"

struct sources {
	const struct catalogue *catalogue; /* built in, or with overrides */
	struct catalogue *owned;	   /* the overrides, or NULL */
	struct organisation organisation;
	struct settings settings;
};

/*
 * Reads all of them. An override that does not parse, a signature that is bad or missing where a key is installed,
 * and a setting that is not understood are errors: nothing starts.
 */
int sources_read(struct sources *s, struct err *e) sg_must_check;
void sources_free(struct sources *s);

/*
 * For policy_resolve(). `agent` by name (may be NULL), `languages` as permission ids (may be NULL); both borrowed.
 */
struct policy_sources sources_for(const struct sources *s, const char *agent,
				  char *const *languages);

#endif
