/* SPDX-License-Identifier: Apache-2.0 */
/* print: the pieces of a policy as JSON values; NULL without memory. */
#ifndef SG_POLICY_PRINT_H
#define SG_POLICY_PRINT_H

#include <jansson.h>

#include "policy/policy.h"

/* Those of one effect, in their order. */
json_t *rules_print_json(const struct rule *rules, size_t n, enum effect effect);

json_t *strings_print_json(char *const *list);
json_t *ports_print_json(const uint16_t *ports, size_t n);

/* Puts an array under the key when it has items; drops it otherwise. False when it is NULL. */
bool json_put_unless_empty(json_t *object, const char *key, json_t *array);

#endif
