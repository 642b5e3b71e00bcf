/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/new_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gate/datagrams.h"
#include "gate/flow.h"
#include "gate/names.h"

/* Its size by lseek(): fstat() is a call that also takes paths. */
const int new_policy_syscalls[] = {SCMP_SYS(lseek), SCMP_SYS(munmap), -1};

/* Without these it could be cut short, or be another policy, while it is read (memfd_create(2)). */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static int by_octet(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* glibc's qsort() asks how much memory there is, once, the first time it sorts more than 1 KiB. */
void new_policy_prepare(void)
{
	uint8_t octets[2048] = {0};

	qsort(octets, sizeof(octets), 1, by_octet);
}

static int map_wire(int fd, struct span *wire, struct err *e)
{
	int seals = fcntl(fd, F_GET_SEALS);
	off_t n = seals < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *p;

	if (seals < 0)
		return err_set(e, "the policy is not in a memory file: %s", strerror(errno));
	if ((seals & SEALS) != SEALS)
		return err_set(e, "the policy is not sealed: its file could still be changed");
	if (n <= 0 || n > POLICY_WIRE_MAX)
		return err_set(e, "the policy is %lld octets long; 1 to %d are taken", (long long)n,
			       POLICY_WIRE_MAX);
	p = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_set(e, "the policy cannot be read: %s", strerror(errno));
	*wire = span_of(p, (size_t)n);
	return 0;
}

static struct ruleset *read_rules(int fd, uint64_t generation, struct err *e)
{
	struct ruleset *rules = NULL;
	struct policy p;
	struct span wire;

	if (map_wire(fd, &wire, e) != 0)
		return NULL;
	if (policy_parse_wire(wire, &p, e) == 0) {
		rules = ruleset_compile(&p, generation, e);
		policy_free(&p);
	}
	munmap((void *)wire.p, wire.n);
	return rules;
}

static void swap(struct gate *g, struct ruleset *rules)
{
	struct ruleset *before = g->rules;

	g->rules = rules;
	g->remedy.on = ruleset_policy(rules)->resolved.on;
	journal_set_generation(g->journal, ruleset_generation(rules));
	/* Some were withheld from answers that are kept; others would be now. */
	names_forget_answers(g->names);
	flows_rejudge(g->flows);
	datagrams_rejudge(g->datagrams);
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
