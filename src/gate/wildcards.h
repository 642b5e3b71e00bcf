/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wildcards: the names that were asked for under each wildcard rule.
 *
 * A name below a wildcard is a message to whoever runs that zone, so how many different ones a
 * minute may be asked is limited; and a person may see them (`egress`).
 */
#ifndef SG_GATE_WILDCARDS_H
#define SG_GATE_WILDCARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/name.h"
#include "base/span.h"

enum {
	WILDCARDS_MAX = 512,	   /* wildcards that are told apart */
	WILDCARD_NAMES_SHOWN = 64, /* the first names of each */
};

struct wildcards;

/*
 * NULL without memory. Address space only is taken until names arrive. Shared with the processes
 * that are forked after.
 */
struct wildcards *wildcards_new(void);
void wildcards_free(struct wildcards *w);
/* Drops what another process left half-written. */
void wildcards_mend(struct wildcards *w);

/*
 * `name`, which is below `wildcard` (written without "*."), is asked for. True when it was asked
 * for in this minute already, or is not more than the per_minute-th to be.
 */
bool wildcards_admit(struct wildcards *w, struct span wildcard, const struct name *name,
		     uint32_t per_minute, mono_t now);

struct dns_wildcard {
	const struct name *wildcard;
	const struct name *names; /* the first ones */
	size_t n_names;
	uint64_t seen; /* distinct ones in all, as far as memory tells; never too few */
};

void wildcards_each(const struct wildcards *w,
		    void (*each)(void *ctx, const struct dns_wildcard *seen), void *ctx);

#endif
