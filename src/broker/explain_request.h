/* SPDX-License-Identifier: Apache-2.0 */
/* explain_request: what the broker would make of the request that `net explain` is asked about. */
#ifndef SG_BROKER_EXPLAIN_REQUEST_H
#define SG_BROKER_EXPLAIN_REQUEST_H

#include "policy/explain.h"

/*
 * Goes on from explain_decide() by judge_request(), where the connection is opened and its request
 * is known. What fields and body would decide is taken as it ought to be, and noted.
 */
void explain_request(const struct ruleset *rs, const struct host_prefixes *host,
		     const struct remedy_for *who, struct explanation *x);

#endif
