/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/totals.h"

#include <sys/mman.h>

#include "audit/refusals.h"
#include "gate/quota.h"
#include "gate/wildcards.h"

struct counted {
	struct gate_counters counters;
	struct dns_counters dns;
};

int totals_make(struct gate_totals *t, struct err *e)
{
	struct counted *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*t = (struct gate_totals){
		.refusals = refusals_new(), .quota = quota_new(), .wildcards = wildcards_new()};
	if (c != MAP_FAILED) {
		t->counters = &c->counters;
		t->dns = &c->dns;
	}
	if (t->counters && t->refusals && t->quota && t->wildcards)
		return 0;
	totals_free(t);
	return err_set(e, "no memory for the gate's counters");
}

void totals_free(struct gate_totals *t)
{
	if (t->counters)
		munmap(sg_container_of(t->counters, struct counted, counters),
		       sizeof(struct counted));
	refusals_free(t->refusals);
	quota_free(t->quota);
	wildcards_free(t->wildcards);
	*t = (struct gate_totals){0};
}

void totals_mend(const struct gate_totals *t)
{
	refusals_mend(t->refusals);
	wildcards_mend(t->wildcards);
}
