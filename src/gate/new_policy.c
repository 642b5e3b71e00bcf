/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/new_policy.h"

#include <stdlib.h>

#include "gate/broker_door.h"
#include "gate/datagrams.h"
#include "gate/flow.h"
#include "gate/names.h"
#include "io/sealed_memory.h"
#include "policy/inspects.h"

static struct ruleset *read_rules(int fd, uint64_t generation, struct err *e)
{
	struct ruleset *rules;
	struct span wire;

	if (sealed_memory_map(fd, POLICY_WIRE_MAX, "policy", &wire, e) != 0)
		return NULL;
	rules = ruleset_compile_wire(wire, generation, e);
	sealed_memory_unmap(wire);
	return rules;
}

static void swap(struct gate *g, struct ruleset *rules)
{
	struct ruleset *before = g->rules;

	g->rules = rules;
	g->may_inspect = policy_needs_broker(ruleset_policy(rules), g->remedy.catalogue);
	g->remedy.on = ruleset_policy(rules)->resolved.on;
	journal_set_generation(g->journal, ruleset_generation(rules));
	/* Some were withheld from answers that are kept; others would be now. */
	names_forget_answers(g->names);
	flows_rejudge(g->flows);
	datagrams_rejudge(g->datagrams);
	broker_door_rejudge(g->broker);
	ruleset_free(before);
}

int new_policy_take(struct gate *g, int fd, uint64_t generation, struct err *e)
{
	uint64_t present = ruleset_generation(g->rules);
	struct ruleset *rules;

	if (generation <= present)
		return err_set(e, "generation %llu is not after %llu, which decides now",
			       (unsigned long long)generation, (unsigned long long)present);
	rules = read_rules(fd, generation, e);
	if (!rules)
		return -1;
	swap(g, rules);
	return 0;
}
