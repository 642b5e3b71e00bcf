/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_MAX = 64 }; /* the name of a sandbox */

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Optimal string alignment: three rows, the one before last for swapped neighbours. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = smallest(last[j] + 1, now[j - 1] + 1,
					  last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

struct nearest nearest_to(const char *written)
{
	size_t n = strlen(written);

	/* One letter in three may be wrong; the limit is exclusive. */
	return (struct nearest){.written = written, .distance = n / 3 + 2};
}

/* Of two that are as near, the one that begins as it was written: few err in the first letter. */
static bool is_nearer(const struct nearest *n, const char *candidate, size_t d)
{
	if (d != n->distance || !n->word)
		return d < n->distance;
	return candidate[0] == n->written[0] && n->word[0] != n->written[0];
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t written = strlen(n->written), offered = strlen(candidate), d;

	if (written > WORD_MAX || offered > WORD_MAX)
		return;
	d = distance(n->written, written, candidate, offered);
	/* A word of which no letter is right is not what was meant, however short it is. */
	if (is_nearer(n, candidate, d) && d < offered) {
		n->distance = d;
		n->word = candidate;
	}
}
