/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference: policy.md 4 and 5 read literally, by scanning every rule of the written policy.
 *
 * Slow and obvious on purpose; shares nothing with what it is compared to but the
 * types, so that a mistake would have to be made twice.
 */
#ifndef SG_TESTS_REFERENCE_H
#define SG_TESTS_REFERENCE_H

#include "policy/decide.h"

struct answer {
	bool allow, check_name, literal, wildcard, by_default, private_ok;
	bool about_requests; /* the rule that admits it names methods or paths */
	unsigned step;
	enum reason reason;
};

struct answer reference_decide(const struct policy *p, const struct host_prefixes *host,
			       const struct destination *d);
bool reference_admissible(const struct policy *p, const struct host_prefixes *host,
			  const struct answer *lookup, const struct addr *a);

#endif
