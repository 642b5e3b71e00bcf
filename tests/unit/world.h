/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world: generated policies, with all that they are resolved with, and destinations.
 *
 * The worlds are small on purpose: few names, addresses and ports, so that rules
 * meet one another.
 */
#ifndef SG_TESTS_WORLD_H
#define SG_TESTS_WORLD_H

#include "policy/decide.h"
#include "policy/permission.h"

enum { PERMISSIONS = 4, PERMISSION_RULES = 4, PERMISSION_OPERATIONS = 2, TEXT_MAX = 128 };

struct world {
	char rule_text[PERMISSIONS][PERMISSION_RULES][TEXT_MAX];
	const char *rules[PERMISSIONS][PERMISSION_RULES + 1];
	struct permission permissions[PERMISSIONS];
	struct operation operations[PERMISSIONS][PERMISSION_OPERATIONS];
	struct catalogue catalogue;
	struct organisation organisation;
	struct policy_sources sources;
	struct policy policy; /* resolved */
	struct host_prefixes host;
};

void world_seed(uint64_t given);

/* 0..n-1 */
unsigned world_pick(unsigned n);

/* The policy is resolved. The world must stay where it is until it is freed. */
void world_make(struct world *w);
void world_free(struct world *w);

struct question {
	struct destination d;
	struct name name;
	struct addr addr;
};

void question_make(struct question *q);
void question_show(const struct policy *p, const struct question *q);

#endif
