/* SPDX-License-Identifier: Apache-2.0 */
/* credential_entry: the list `credentials` of a policy file, read and printed. */
#ifndef SG_POLICY_CREDENTIAL_ENTRY_H
#define SG_POLICY_CREDENTIAL_ENTRY_H

#include <jansson.h>

#include "policy/credential.h"
#include "policy/value.h"

/* 0, or -1 with "file:line:column: ..."; what was read before is in the list either way. */
int credentials_read(const struct value_reader *v, const struct node *list,
		     struct credential_list *out) sg_must_check;

/* NULL without memory. */
json_t *credentials_print_json(const struct credential_list *list);

#endif
