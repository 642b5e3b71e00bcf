/* SPDX-License-Identifier: Apache-2.0 */
/* print_yaml: a policy as the file that a person writes. */
#ifndef SG_POLICY_PRINT_YAML_H
#define SG_POLICY_PRINT_YAML_H

#include "policy/policy.h"

/*
 * YAML of several lines, always with the base; parse(print(p)) is p, its allow rules first. The
 * caller frees. NULL without memory.
 */
char *policy_print_yaml(const struct policy *p);

#endif
