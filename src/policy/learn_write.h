/* SPDX-License-Identifier: Apache-2.0 */
/* learn_write: the exact rules of a learned policy, and what its steps share. Private to learn. */
#ifndef SG_POLICY_LEARN_WRITE_H
#define SG_POLICY_LEARN_WRITE_H

#include "policy/learn.h"
#include "policy/rule.h"

struct learn_item {
	struct seen seen; /* the target once, its records counted together */
	bool covered;	  /* by a permission of the learned policy */
	bool dropped;	  /* left out */
};

struct learn_state {
	const struct policy *in_force;
	const struct policy_sources *sources;
	struct ruleset *now;	 /* the policy in force, compiled */
	struct learn_item *todo; /* sorted by target */
	size_t n_todo;
};

/* By host, lookup before connections, protocol, port, permission. 0: the same target. */
int learn_compare_targets(const struct seen *a, const struct seen *b);

/* A rule, or a host port, for each item that is neither covered nor dropped. */
int learn_write_rules(const struct learn_state *l, struct policy *p, struct err *e) sg_must_check;

/* Domains with many names among the rules. 0 or -ENOMEM. */
int learn_find_hints(const struct policy *p, struct learned *out) sg_must_check;

#endif
