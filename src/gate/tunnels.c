/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A place in the table for each tunnel that is asked for. Its number is the place and how often the
 * place was taken before, so a late answer finds nobody. While it waits, the socket is the broker's
 * to read and write; the gate only keeps it. Answers come from a process that reads the sandbox's
 * octets: the worst that a false one does is that the sandbox speaks with the parent itself, without
 * the password.
 */
#include "gate/tunnels.h"

#include <errno.h>
#include <stdlib.h>

#include "gate/broker_door.h"

struct tunnels {
	const struct parent_proxy *parent;
	uint32_t rounds[TUNNELS_MAX]; /* how often the place was taken */
	struct tunnel *waiting[TUNNELS_MAX];
	uint32_t next; /* where a free place is looked for first */
};

static uint32_t number_of(const struct tunnels *all, uint32_t place)
{
	return (all->rounds[place] << 10 | place) + TUNNELS_MAX;
}
_Static_assert(TUNNELS_MAX == 1 << 10, "a number holds every place, and is never 0");

static struct tunnel **find(struct tunnels *all, uint32_t number)
{
	uint32_t place = number % TUNNELS_MAX;

	return all->waiting[place] && all->waiting[place]->number == number ? &all->waiting[place]
									    : NULL;
}

/* TUNNELS_MAX: all are taken. */
static uint32_t free_place(struct tunnels *all)
{
	for (uint32_t i = 0; i < TUNNELS_MAX; i++) {
		uint32_t place = (all->next + i) % TUNNELS_MAX;

		if (all->waiting[place])
			continue;
		all->next = place + 1;
		return place;
	}
	return TUNNELS_MAX;
}

bool tunnels_carry(const struct gate *g, const struct name *name, const struct addr *a)
{
	return g->tunnels && parent_proxy_carries(g->tunnels->parent, name, a);
}

const struct endpoint *tunnels_parent(const struct gate *g, size_t i)
{
	const struct parent_proxy *p = g->tunnels->parent;

	return i < p->n ? &p->at[i] : NULL;
}

int tunnel_ask(struct gate *g, struct tunnel *t, int fd, const struct name *name,
	       const struct endpoint *to)
{
	struct tunnels *all = g->tunnels;
	uint32_t place = free_place(all);
	struct gate_message m = {.kind = GATE_TUNNEL, .dst = *to};
	int r;

	if (place == TUNNELS_MAX)
		return EAGAIN;
	all->rounds[place] = (all->rounds[place] + 1) % (UINT32_MAX >> 11);
	m.number = number_of(all, place);
	if (name)
		m.name = *name;
	r = broker_door_send(g->broker, &m, fd);
	if (r != 0)
		return r;
	t->number = m.number;
	all->waiting[place] = t;
	return 0;
}

void tunnel_forget(struct gate *g, struct tunnel *t)
{
	struct tunnel **at = tunnel_waits(t) ? find(g->tunnels, t->number) : NULL;

	if (at)
		*at = NULL;
	t->number = 0;
}

void tunnels_answer(struct gate *g, uint32_t number, int error)
{
	struct tunnel **at = g->tunnels ? find(g->tunnels, number) : NULL, *t;

	if (!at)
		return;
	t = *at;
	*at = NULL;
	t->number = 0;
	t->done(t, error);
}

void tunnels_fail(struct gate *g)
{
	for (uint32_t i = 0; g->tunnels && i < TUNNELS_MAX; i++)
		if (g->tunnels->waiting[i])
			tunnels_answer(g, g->tunnels->waiting[i]->number, ECONNREFUSED);
}

struct tunnels *tunnels_new(struct gate *g, const struct parent_proxy *parent)
{
	struct tunnels *all = calloc(1, sizeof(*all));

	if (all)
		all->parent = parent;
	return all;
}
