/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/rate.h"

mono_t rate_next(const struct rate *r, unsigned most)
{
	if (r->n < most)
		return (mono_t){0};
	return mono_add_ms(r->written[r->n % most], RATE_MINUTE_MS);
}

void rate_note(struct rate *r, unsigned most, mono_t at)
{
	r->written[r->n % most] = at;
	r->n++;
	/* Never back to where the table counts as not yet full. */
	if (r->n == 2 * most)
		r->n = most;
}
