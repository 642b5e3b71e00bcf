/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: the known word that a person probably meant. */
#ifndef SG_BASE_NEAREST_H
#define SG_BASE_NEAREST_H

#include <stddef.h>

/*
 * Collects candidates one by one. Distance is the number of letters added, left out, changed or
 * swapped with their neighbour.
 */
struct nearest {
	const char *written;
	const char *word; /* the best so far; NULL when none is near enough */
	size_t distance;
};

struct nearest nearest_to(const char *written);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
