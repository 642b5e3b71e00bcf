/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/rate.h"

mono_t rate_next(const struct rate *r)
{
	if (r->n < RATE_PER_MINUTE)
		return (mono_t){0};
	return mono_add_ms(r->written[r->n % RATE_PER_MINUTE], RATE_MINUTE_MS);
}

void rate_note(struct rate *r, mono_t at)
{
	r->written[r->n % RATE_PER_MINUTE] = at;
	r->n++;
	/* Never back to where the table counts as not yet full. */
	if (r->n == 2 * RATE_PER_MINUTE)
		r->n = RATE_PER_MINUTE;
}
