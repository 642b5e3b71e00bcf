/* SPDX-License-Identifier: Apache-2.0 */
/* An organisation's policy: what is read can be resolved and compiled; an error has a place. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "policy/decide.h"
#include "policy/permission.h"

static void use(const struct organisation *o)
{
	struct policy_sources s = {.catalogue = catalogue_builtin(), .organisation = o};
	struct ruleset *rs = NULL;
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = o->has_default_network ? o->default_network : NET_STANDARD;
	/* What the organisation sets as the default is never wider than itself. */
	if (policy_resolve(&p, &s, &e))
		abort();
	rs = ruleset_compile(&p, 1, &e);
	if (!rs && !strstr(e.text, "different rules for the target"))
		abort();
	ruleset_free(rs);
	policy_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct organisation o, empty = {0};
	unsigned line, column;
	struct err e;

	if (organisation_parse(span_of(data, size), "f", catalogue_builtin(), &o, &e) == 0) {
		use(&o);
		organisation_free(&o);
	} else if (sscanf(e.text, "f:%u:%u: ", &line, &column) != 2 || !line || !column) {
		abort();
	}
	if (memcmp(&o, &empty, sizeof(o)) != 0)
		abort();
	return 0;
}
