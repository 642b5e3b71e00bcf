/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources: everything beside a person's own words that says what a sandbox may do, read from its
 * files: the catalogue with the administrator's overrides, the organisation's signed policy, the
 * settings.
 *
 * The overrides are the .yaml files in catalogue/ of the system's configuration folder, then of the
 * person's own, in the order of their names; a later one wins. Where the organisation's policy is
 * locked the person has none.
 */
#ifndef SG_SANDBOX_SOURCES_H
#define SG_SANDBOX_SOURCES_H

#include "audit/digest.h"
#include "policy/permission.h"
#include "sandbox/settings/settings.h"

enum { SOURCES_OVERRIDES_MAX = 64 };

struct sources {
	const struct catalogue *catalogue;		    /* built in, or with overrides */
	struct catalogue *overrides[SOURCES_OVERRIDES_MAX]; /* each on top of the one before */
	size_t n_overrides;
	struct digest local; /* of the texts of the overrides, one after the other */
	struct organisation organisation;
	struct settings settings;
};

/*
 * Reads all of them. An override that does not parse, a signature that is bad or missing where a
 * key is installed, and a setting that is not understood are errors: nothing starts. 0, or -1 with
 * the message and nothing to free.
 */
int sources_read(struct sources *s, struct err *e) sg_must_check;
void sources_free(struct sources *s);

/* The catalogue alone, with the system's overrides: what an organisation's policy is read with. */
int sources_read_catalogue(struct sources *s, struct err *e) sg_must_check;

/*
 * For policy_resolve(). `agent` by name (may be NULL), `languages` as permission ids (may be NULL);
 * both borrowed.
 */
struct policy_sources sources_for(const struct sources *s, const char *agent,
				  char *const *languages);

#endif
