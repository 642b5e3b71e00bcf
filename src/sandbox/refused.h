/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refused: what the gate says was refused, as suggestions.
 *
 * The gate is the process that reads the sandbox's octets: every field is parsed strictly, and what
 * does not parse is counted and no more, so that nothing of it reaches a terminal or a shell. What
 * is sandgate's own (the gate's addresses in the airlock) is counted likewise and never listed.
 */
#ifndef SG_SANDBOX_REFUSED_H
#define SG_SANDBOX_REFUSED_H

#include <jansson.h>
#include <stdio.h>

#include "policy/suggest.h"

/*
 * `answer` is that of the gate's request "refusals", or NULL. `s` has its catalogue and permissions
 * set and is filled; the result is what is in no suggestion. Without memory what did not fit is in
 * there.
 */
uint64_t refused_read(const json_t *answer, struct suggestions *s);

/* Is it sandgate's own? */
bool refused_is_own(const struct seen *s);

/*
 * One line: "  the agent tried to install Python packages (PyPI), 3 times", or
 * "  db.example.com (tcp 5432, 2 times): no rule of the policy allows it".
 */
void refused_put(FILE *to, const struct suggestion *s);

/*
 * An array of objects: `permission`, `says`, `hosts`, `ports`, `count`, `reasons`, `allowed_now`,
 * `remedy` (what a person can run, or null). `sandbox` is the name for it. NULL without memory.
 */
json_t *refused_model(const struct suggestions *s, const char *sandbox);

#endif
