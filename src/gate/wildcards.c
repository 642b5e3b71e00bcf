/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. Each wildcard that was used has a slot with a minute that begins at the
 * first name after the last one ended, and how many distinct names were asked in it. Which names
 * these were is remembered as keyed hashes in one table, four places a bucket. A name that
 * was pushed out of its bucket counts a second time: forgetting makes the limit
 * stricter, never laxer.
 *
 * A slot is taken from another wildcard only when that one's minute is over. When all are
 * in use, a further wildcard is at its limit. A wildcard that the policy has no more keeps its
 * slot until then: nothing here points into a ruleset.
 */
#include "gate/wildcards.h"

#include <stddef.h>
#include <sys/mman.h>

enum {
	MINUTE_MS = 60 * 1000,
	BUCKETS = 4096,
	WAYS = 4,
};

struct memory {
	uint64_t hash;	 /* of the name; 0: free */
	uint32_t slot;	 /* 1-based */
	uint32_t minute; /* of the slot */
};

struct slot {
	struct name wildcard;
	mono_t ends; /* the minute */
	uint32_t minute;
	uint32_t asked; /* distinct names in it */
	uint64_t seen;
	size_t n_names;
	struct name names[WILDCARD_NAMES_SHOWN];
};

struct wildcards {
	size_t n_slots;
	uint64_t hash[WILDCARDS_MAX]; /* of the wildcard in each slot: few pages to search */
	struct memory memory[BUCKETS][WAYS];
	struct slot slots[WILDCARDS_MAX];
};

struct wildcards *wildcards_new(void)
{
	void *p = mmap(NULL, sizeof(struct wildcards), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void wildcards_free(struct wildcards *w)
{
	if (w)
		munmap(w, sizeof(*w));
}

static void mend_slot(struct wildcards *w, size_t i)
{
	struct slot *s = &w->slots[i];
	size_t n = s->n_names < WILDCARD_NAMES_SHOWN ? s->n_names : WILDCARD_NAMES_SHOWN;

	s->n_names = 0;
	for (size_t k = 0; k < n; k++)
		if (name_is_canonical(&s->names[k]))
			s->names[s->n_names++] = s->names[k];
	w->hash[i] = name_hash(s->wildcard.s, s->wildcard.n);
}

/* A place in the memory whose slot is not there any more is free. */
static void mend_memory(struct wildcards *w)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (size_t k = 0; k < WAYS; k++) {
			struct memory *m = &w->memory[i][k];

			if (m->hash && (m->slot == 0 || m->slot > w->n_slots))
				m->hash = 0;
		}
}

void wildcards_mend(struct wildcards *w)
{
	size_t n = w->n_slots < WILDCARDS_MAX ? w->n_slots : WILDCARDS_MAX;

	if (!n)
		return;
	w->n_slots = 0;
	/* The last one may have no name yet; one before it that has none was written on purpose. */
	while (w->n_slots < n && name_is_canonical(&w->slots[w->n_slots].wildcard))
		mend_slot(w, w->n_slots++);
	mend_memory(w);
}

static struct slot *slot_find(struct wildcards *w, struct span wildcard, uint64_t hash)
{
	for (size_t i = 0; i < w->n_slots; i++) {
		struct slot *s = &w->slots[i];

		if (w->hash[i] == hash &&
		    span_equal(span_of(s->wildcard.s, s->wildcard.n), wildcard))
			return s;
	}
	return NULL;
}

/* An unused slot, or the one whose minute has been over for longest; NULL when none is over. */
static struct slot *slot_spare(struct wildcards *w, mono_t now)
{
	struct slot *spare = NULL;

	if (w->n_slots < WILDCARDS_MAX)
		return &w->slots[w->n_slots++];
	for (size_t i = 0; i < WILDCARDS_MAX; i++) {
		struct slot *s = &w->slots[i];

		if (mono_before(now, s->ends))
			continue;
		if (!spare || mono_before(s->ends, spare->ends))
			spare = s;
	}
	return spare;
}

static struct slot *slot_of(struct wildcards *w, struct span wildcard, mono_t now)
{
	uint64_t hash = name_hash((const char *)wildcard.p, wildcard.n);
	struct slot *s = slot_find(w, wildcard, hash);
	struct name name;

	if (s || name_parse_ascii((const char *)wildcard.p, wildcard.n, &name) != NAME_OK)
		return s;
	s = slot_spare(w, now);
	if (!s)
		return NULL;
	w->hash[s - w->slots] = hash;
	s->wildcard = name;
	s->minute++; /* what is remembered of its former wildcard is no longer of this minute */
	s->ends = now;
	s->asked = 0;
	s->seen = 0;
	s->n_names = 0;
	return s;
}

static bool is_of_this_minute(const struct wildcards *w, const struct memory *m)
{
	return m->hash && w->slots[m->slot - 1].minute == m->minute;
}

/* Where the name is remembered, or is to be: a free place, or one that no longer counts. */
static struct memory *recall(struct wildcards *w, uint64_t hash, uint32_t slot)
{
	struct memory *bucket = w->memory[hash % BUCKETS], *place = NULL;

	for (size_t i = 0; i < WAYS; i++) {
		if (bucket[i].hash == hash && bucket[i].slot == slot)
			return &bucket[i];
		if (!place && !is_of_this_minute(w, &bucket[i]))
			place = &bucket[i];
	}
	return place ? place : &bucket[hash >> 32 & (WAYS - 1)];
}

static void show(struct slot *s, const struct name *name)
{
	s->seen++;
	for (size_t i = 0; i < s->n_names; i++)
		if (name_equal(&s->names[i], name))
			return;
	if (s->n_names < WILDCARD_NAMES_SHOWN)
		s->names[s->n_names++] = *name;
}

bool wildcards_admit(struct wildcards *w, struct span wildcard, const struct name *name,
		     uint32_t per_minute, mono_t now)
{
	uint64_t hash = name_hash(name->s, name->n) | 1;
	struct slot *s = slot_of(w, wildcard, now);
	struct memory *m;
	uint32_t index;
	bool known;

	if (!s)
		return false;
	index = (uint32_t)(s - w->slots) + 1;
	if (!mono_before(now, s->ends)) {
		s->ends = mono_add_ms(now, MINUTE_MS);
		s->minute++;
		s->asked = 0;
	}
	m = recall(w, hash, index);
	known = m->hash == hash && m->slot == index;
	if (known && m->minute == s->minute)
		return true;
	if (s->asked >= per_minute)
		return false;
	s->asked++;
	*m = (struct memory){hash, index, s->minute};
	if (!known)
		show(s, name);
	return true;
}

void wildcards_each(const struct wildcards *w,
		    void (*each)(void *ctx, const struct dns_wildcard *seen), void *ctx)
{
	for (size_t i = 0; i < w->n_slots; i++) {
		const struct slot *s = &w->slots[i];
		struct dns_wildcard seen = {&s->wildcard, s->names, s->n_names, s->seen};

		each(ctx, &seen);
	}
}
