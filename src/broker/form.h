/* SPDX-License-Identifier: Apache-2.0 */
/* form: pairs of a query or of a body that is application/x-www-form-urlencoded. */
#ifndef SG_BROKER_FORM_H
#define SG_BROKER_FORM_H

#include "base/span.h"

enum { FORM_KEY_MAX = 64, FORM_VALUE_MAX = 8192 };

struct form_pair {
	char key[FORM_KEY_MAX + 1];	/* decoded, NUL-terminated, without any NUL in it */
	char value[FORM_VALUE_MAX + 1]; /* the same; empty when there is none */
};

enum form_result {
	FORM_PAIR,
	FORM_END,
	FORM_UNCLEAR, /* too long, a bad escape, a NUL, or `;`, which some readers part pairs at */
};

/* The next pair; `*rest` goes on behind it, also behind one that is unclear. */
enum form_result form_next(struct span *rest, struct form_pair *out);

/* The query of a request's target; `*has`: there is one at all, be it empty. */
struct span form_of_target(const char *target, bool *has);

#endif
