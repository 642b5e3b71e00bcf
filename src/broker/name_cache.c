/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_cache: a table of chains by the hash of the name, and a ring of all entries in the order
 * of their use.
 *
 * All entries are made at the start. One that keeps nothing is in no chain, and at the old end
 * of the ring. The table is larger than the number of entries, so chains are short; a sandbox
 * picks the names, but not the key of the hash (name_hash).
 */
#include "broker/name_cache.h"

#include <stdlib.h>

#include "base/compiler.h"

struct entry {
	struct entry *newer, *older; /* the ring, through `ring` of the cache */
	struct entry *next;	     /* in its chain */
	void *kept;		     /* NULL: free */
	struct name name;
};

struct name_cache {
	void (*release)(void *kept);
	size_t n_entries, n_chains; /* a power of two */
	struct entry ring;	    /* older of it: used last; newer of it: used longest ago */
	struct entry *entries;
	struct entry **chains;
};

static void ring_remove(struct entry *e)
{
	e->newer->older = e->older;
	e->older->newer = e->newer;
}

static void ring_put_newest(struct name_cache *c, struct entry *e)
{
	e->newer = &c->ring;
	e->older = c->ring.older;
	e->older->newer = e;
	c->ring.older = e;
}

struct name_cache *name_cache_new(size_t names_max, void (*release)(void *kept))
{
	struct name_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->release = release;
	c->n_entries = names_max;
	for (c->n_chains = 16; c->n_chains < 2 * names_max;)
		c->n_chains *= 2;
	c->entries = calloc(names_max, sizeof(*c->entries));
	c->chains = calloc(c->n_chains, sizeof(struct entry *));
	if (!c->entries || !c->chains) {
		c->n_entries = 0;
		name_cache_free(c);
		return NULL;
	}
	c->ring.newer = c->ring.older = &c->ring;
	for (size_t i = 0; i < names_max; i++)
		ring_put_newest(c, &c->entries[i]);
	return c;
}

void name_cache_free(struct name_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_entries; i++)
		if (c->entries[i].kept)
			c->release(c->entries[i].kept);
	free(c->entries);
	free(c->chains);
	free(c);
}

static struct entry **chain_of(struct name_cache *c, const struct name *name)
{
	return &c->chains[name_hash(name->s, name->n) & (c->n_chains - 1)];
}

static struct entry *find(struct name_cache *c, const struct name *name)
{
	struct entry *e = *chain_of(c, name);

	while (e && !name_equal(&e->name, name))
		e = e->next;
	return e;
}

static void use(struct name_cache *c, struct entry *e)
{
	ring_remove(e);
	ring_put_newest(c, e);
}

void *name_cache_find(struct name_cache *c, const struct name *name)
{
	struct entry *e = find(c, name);

	if (!e)
		return NULL;
	use(c, e);
	return e->kept;
}

static void give_up(struct name_cache *c, struct entry *e)
{
	struct entry **at = chain_of(c, &e->name);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	c->release(e->kept);
	e->kept = NULL;
}

void name_cache_put(struct name_cache *c, const struct name *name, void *kept)
{
	struct entry *e = find(c, name);
	struct entry **chain;

	if (e)
		c->release(e->kept);
	else {
		e = c->ring.newer;
		if (e->kept)
			give_up(c, e);
		chain = chain_of(c, name);
		e->name = *name;
		e->next = *chain;
		*chain = e;
	}
	e->kept = kept;
	use(c, e);
}
