/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/answer_mask.h"

#include <stdlib.h>

enum { MASKED_MAX = 64 * 1024 };

static void copy_ring(const struct body *b, size_t from, uint8_t *out, size_t n)
{
	size_t at = (b->at + from) % BODY_ROOM, first = n < BODY_ROOM - at ? n : BODY_ROOM - at;

	memcpy(out, b->ring + at, first);
	memcpy(out + first, b->ring, n - first);
}

static void put_ring(struct body *b, size_t to, const uint8_t *p, size_t n)
{
	size_t at = (b->at + to) % BODY_ROOM, first = n < BODY_ROOM - at ? n : BODY_ROOM - at;

	memcpy(b->ring + at, p, first);
	memcpy(b->ring, p + first, n - first);
}

/* The last n octets. They keep their places and their number. */
static void mask_last(struct answer_mask *m, struct body *b, size_t n)
{
	size_t ready = 0;
	uint8_t *p = malloc(n);

	if (!p) {
		b->failed = true;
		return;
	}
	copy_ring(b, b->n - n, p, n);
	mask_apply(m->mask, p, n, &ready);
	put_ring(b, b->n - n, p, n);
	explicit_bzero(p, n);
	free(p);
	b->held = n - ready;
	m->passed += ready;
}

void answer_mask_look(struct answer_mask *m, struct body *b)
{
	size_t n = (size_t)(b->passed + b->n - m->passed);

	if (!m->mask)
		return;
	if (n > b->held)
		mask_last(m, b, n);
	if (!b->ended && m->passed < MASKED_MAX)
		return;
	b->held = 0;
	answer_mask_free(m);
}

void answer_mask_free(struct answer_mask *m)
{
	mask_free(m->mask);
	m->mask = NULL;
}
