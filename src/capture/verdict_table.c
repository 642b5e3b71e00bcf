/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/verdict_table.h"

#include <sys/mman.h>

struct verdict_table {
	uint64_t key[2];
	struct told_verdict place[VERDICT_SETS][VERDICT_WAYS];
};

struct verdict_table *verdict_table_new(const uint64_t key[2])
{
	struct verdict_table *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (t == MAP_FAILED)
		return NULL;
	t->key[0] = key[0];
	t->key[1] = key[1];
	return t;
}

void verdict_table_free(struct verdict_table *t)
{
	if (t)
		munmap(t, sizeof(*t));
}

/* The finaliser of MurmurHash3 over each word: no sum of the sandbox's choice is of use there. */
static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

static size_t set_of(const struct verdict_table *t, const struct tuple *of)
{
	uint64_t words[sizeof(*of) / 8];
	uint64_t h = t->key[0];

	memcpy(words, of, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		h = mix(h ^ words[i]) ^ t->key[1];
	return mix(h) % VERDICT_SETS;
}

static struct told_verdict *place_for(struct verdict_table *t, const struct tuple *of)
{
	struct told_verdict *set = t->place[set_of(t, of)], *oldest = set;

	for (size_t i = 0; i < VERDICT_WAYS; i++) {
		if (set[i].time_ns && tuple_equal(&set[i].tuple, of))
			return &set[i];
		if (set[i].time_ns < oldest->time_ns)
			oldest = &set[i];
	}
	return oldest;
}

void verdict_table_put(struct verdict_table *t, const struct verdict_note *n)
{
	struct told_verdict *v = place_for(t, &n->tuple);

	v->tuple = n->tuple;
	v->time_ns = n->time_ns > 0 ? n->time_ns : 1;
	v->kind = n->kind;
	memcpy(v->text, n->text, strnlen(n->text, VERDICT_TEXT_MAX - 1) + 1);
}

const struct told_verdict *verdict_table_find(const struct verdict_table *t, const struct tuple *of)
{
	const struct told_verdict *set = t->place[set_of(t, of)];

	for (size_t i = 0; i < VERDICT_WAYS; i++)
		if (set[i].time_ns && tuple_equal(&set[i].tuple, of))
			return &set[i];
	return NULL;
}
