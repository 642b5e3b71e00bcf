/* SPDX-License-Identifier: Apache-2.0 */
/* rule_entry: one entry of an `allow` or `deny` list of a file, in short or in long form. */
#ifndef SG_POLICY_RULE_ENTRY_H
#define SG_POLICY_RULE_ENTRY_H

#include "policy/rule.h"
#include "policy/value.h"

/* On an error r is empty. 0, or -1 with "file:line:column: ...". */
int rule_entry_read(const struct value_reader *v, const struct node *n, enum effect effect,
		    struct rule *r) sg_must_check;

/* One method in capitals, one pattern of a path. 0 or -1 with the message. */
int rule_check_method(const char *method, struct err *e) sg_must_check;
int rule_check_path(const char *path, struct err *e) sg_must_check;

#endif
