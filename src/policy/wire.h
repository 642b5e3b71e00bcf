/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: what policy_resolve() added to a policy, as JSON between supervisor and gate.
 *
 *     "resolved": {
 *       "on": ["github"], "web": true, "host_ports": [11434],
 *       "permissions": [{"id": "github", "rules": ["github.com"]}],
 *       "organisation": {"allow": [...], "deny": [...]}
 *     }
 *
 * What is empty is left out. Rules are those of a policy file, read as strictly.
 */
#ifndef SG_POLICY_WIRE_H
#define SG_POLICY_WIRE_H

#include <jansson.h>

#include "policy/value.h"

/* NULL without memory. */
json_t *wire_print_resolved(const struct resolved *r);

/* Adds to `out`, which is the caller's to free also on an error. */
int wire_read_resolved(const struct value_reader *v, const struct node *value,
		       struct resolved *out) sg_must_check;

#endif
