/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota: limits.bytes_out and limits.bytes_out_per_host.
 *
 * Octets that the sandbox sent, in all and per host: the name a flow was admitted by, else its
 * address. A fixed table; hosts that find no place in it share one count, so that the limit
 * can be met early and never late.
 */
#ifndef SG_GATE_QUOTA_H
#define SG_GATE_QUOTA_H

#include "policy/decide.h"

struct quota;

/* Shared with the processes that are forked after. NULL without memory. */
struct quota *quota_new(void);
void quota_free(struct quota *q);

/* What counts as one host; `name` may be NULL. */
uint64_t quota_host(const struct name *name, const struct addr *addr);

/*
 * How many octets may still be sent to the host; UINT64_MAX without a limit. `why` gets the
 * reason when it is 0.
 */
uint64_t quota_left(const struct quota *q, const struct limits *l, uint64_t host, enum reason *why);
void quota_spend(struct quota *q, const struct limits *l, uint64_t host, uint64_t octets);
/* Of what was spent before it was sent, and was not. */
void quota_return(struct quota *q, const struct limits *l, uint64_t host, uint64_t octets);

#endif
