/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/body.h"

#include <stdlib.h>
#include <string.h>

enum { SPARE_MAX = 8 };

/*
 * Rings come and go with every request; given back to the heap they would take its top along, to
 * be had again page by page. The process has one thread.
 */
static uint8_t *spare[SPARE_MAX];
static size_t n_spare;

static uint8_t *take_ring(void)
{
	return n_spare ? spare[--n_spare] : malloc(BODY_ROOM);
}

static void give_ring(uint8_t *ring)
{
	if (ring && n_spare < SPARE_MAX)
		spare[n_spare++] = ring;
	else
		free(ring);
}

static void drop_ring(struct body *b)
{
	if (b->ring && b->secret)
		explicit_bzero(b->ring, BODY_ROOM);
	give_ring(b->ring);
	b->ring = NULL;
	b->at = b->n = 0;
}

void body_free(struct body *b)
{
	drop_ring(b);
	if (b->trailers)
		message_free(b->trailers);
	free(b->trailers);
	b->trailers = NULL;
}

size_t body_room(const struct body *b)
{
	return BODY_ROOM - b->n;
}

bool body_put(struct body *b, struct span octets)
{
	size_t end, first;

	if (octets.n == 0)
		return true;
	if (octets.n > body_room(b))
		return false;
	if (!b->ring)
		b->ring = take_ring();
	if (!b->ring)
		return false;
	end = (b->at + b->n) % BODY_ROOM;
	first = octets.n < BODY_ROOM - end ? octets.n : BODY_ROOM - end;
	memcpy(b->ring + end, octets.p, first);
	memcpy(b->ring, octets.p + first, octets.n - first);
	b->n += octets.n;
	return true;
}

struct span body_peek(const struct body *b)
{
	size_t in_one = BODY_ROOM - b->at, n = b->n - b->held;

	return span_of(b->ring ? b->ring + b->at : NULL, n < in_one ? n : in_one);
}

void body_take(struct body *b, size_t n)
{
	n = n < b->n ? n : b->n;
	b->at = (b->at + n) % BODY_ROOM;
	b->n -= n;
	b->passed += n;
	if (b->n == 0)
		drop_ring(b);
}
