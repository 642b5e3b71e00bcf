/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A place for each remainder of an exchange's hash, taken over by whichever exchange came last: two
 * that meet in one are answered more often, never less. `next` is when an answer would be due if
 * they were evenly spaced; it may run ahead of the clock by what may be said at once.
 */
#include "gate/answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"

enum { PLACES = 256 };
static const int64_t apart_ns = 1000000000 / ANSWERS_PER_S;

struct place {
	uint64_t exchange;
	mono_t next;
};

struct answers {
	struct place place[PLACES];
};

struct answers *answers_new(void)
{
	return calloc(1, sizeof(struct answers));
}

static uint64_t exchange_of(const struct packet *p)
{
	uint8_t key[21];

	memcpy(key, p->dst.b, 16);
	memcpy(key + 16, &p->dst_port, 2);
	memcpy(key + 18, &p->src_port, 2);
	key[20] = (uint8_t)p->proto;
	return name_hash((const char *)key, sizeof(key));
}

bool answers_take(struct answers *a, const struct packet *refused, mono_t now)
{
	uint64_t exchange = exchange_of(refused);
	struct place *at = &a->place[exchange % PLACES];

	if (at->exchange != exchange || mono_before(at->next, now))
		*at = (struct place){exchange, now};
	if (at->next.ns - now.ns > (ANSWERS_AT_ONCE - 1) * apart_ns)
		return false;
	at->next.ns += apart_ns;
	return true;
}
