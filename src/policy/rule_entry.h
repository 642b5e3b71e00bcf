/* SPDX-License-Identifier: Apache-2.0 */
/* rule_entry: one entry of an `allow` or `deny` list of a file, in short or in long form. */
#ifndef SG_POLICY_RULE_ENTRY_H
#define SG_POLICY_RULE_ENTRY_H

#include "policy/rule.h"
#include "policy/value.h"

/* On an error r is empty. 0, or -1 with "file:line:column: ...". */
int rule_entry_read(const struct value_reader *v, const struct node *n, enum effect effect,
		    struct rule *r) sg_must_check;

#endif
