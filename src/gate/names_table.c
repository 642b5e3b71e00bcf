/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/names_table.h"

#include <assert.h>
#include <sys/mman.h>

struct names *names_new(void)
{
	void *p = mmap(NULL, sizeof(struct names), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void names_free(struct names *t)
{
	if (t)
		munmap(t, sizeof(*t));
}

/* --- entries, by name and by use --- */

static uint32_t *name_bucket(struct names *t, uint64_t hash)
{
	return &t->by_name[hash % NAME_BUCKETS];
}

uint32_t names_table_find_hash(const struct names *t, uint64_t hash)
{
	uint32_t i = t->by_name[hash % NAME_BUCKETS];

	while (i && t->entry[i].hash != hash)
		i = t->entry[i].bucket_next;
	return i;
}

uint32_t names_table_find(const struct names *t, const struct name *name)
{
	uint32_t i = names_table_find_hash(t, names_table_hash(name));

	return i && name_equal(&t->entry[i].name, name) ? i : 0;
}

static void use_unlink(struct names *t, uint32_t i)
{
	struct entry *e = &t->entry[i];

	*(e->newer ? &t->entry[e->newer].older : &t->newest) = e->older;
	*(e->older ? &t->entry[e->older].newer : &t->oldest) = e->newer;
}

static void use_push(struct names *t, uint32_t i)
{
	struct entry *e = &t->entry[i];

	e->newer = 0;
	e->older = t->newest;
	*(t->newest ? &t->entry[t->newest].newer : &t->oldest) = i;
	t->newest = i;
}

void names_table_touch(struct names *t, uint32_t i)
{
	if (t->newest == i)
		return;
	use_unlink(t, i);
	use_push(t, i);
}

/* --- bindings, by entry and by address --- */

static size_t addr_slot(const struct addr *a)
{
	return name_hash((const char *)a->b, sizeof(a->b)) % ADDR_BUCKETS;
}

static uint32_t *addr_bucket(struct names *t, const struct addr *a)
{
	return &t->by_addr[addr_slot(a)];
}

uint32_t names_table_shown(const struct names *t, const struct addr *a)
{
	return t->by_addr[addr_slot(a)];
}

static void bucket_push(struct names *t, uint32_t i)
{
	struct binding *b = &t->binding[i];
	uint32_t *bucket = addr_bucket(t, &b->addr);

	b->in_bucket = true;
	b->addr_newer = 0;
	b->addr_older = *bucket;
	if (*bucket)
		t->binding[*bucket].addr_newer = i;
	*bucket = i;
}

static void bucket_unlink(struct names *t, uint32_t i)
{
	struct binding *b = &t->binding[i];

	if (!b->in_bucket)
		return;
	b->in_bucket = false;
	*(b->addr_newer ? &t->binding[b->addr_newer].addr_older : addr_bucket(t, &b->addr)) =
		b->addr_older;
	if (b->addr_older)
		t->binding[b->addr_older].addr_newer = b->addr_newer;
}

static void binding_push(struct names *t, uint32_t i)
{
	struct binding *b = &t->binding[i];
	struct entry *e = &t->entry[b->entry];

	b->newer = 0;
	b->older = e->newest;
	*(e->newest ? &t->binding[e->newest].newer : &e->oldest) = i;
	e->newest = i;
}

static void binding_unlink(struct names *t, uint32_t i)
{
	struct binding *b = &t->binding[i];
	struct entry *e = &t->entry[b->entry];

	*(b->newer ? &t->binding[b->newer].older : &e->newest) = b->older;
	*(b->older ? &t->binding[b->older].newer : &e->oldest) = b->newer;
}

static void binding_remove(struct names *t, uint32_t i)
{
	struct binding *b = &t->binding[i];

	bucket_unlink(t, i);
	binding_unlink(t, i);
	t->entry[b->entry].n_bindings--;
	t->n_bindings--;
	b->entry = 0;
	b->older = t->free_binding;
	t->free_binding = i;
}

static void entry_remove(struct names *t, uint32_t i)
{
	struct entry *e = &t->entry[i];
	uint32_t *link = name_bucket(t, e->hash);

	while (e->newest)
		binding_remove(t, e->newest);
	t->by_synthetic[e->synthetic] = 0;
	use_unlink(t, i);
	while (*link != i)
		link = &t->entry[*link].bucket_next;
	*link = e->bucket_next;
	e->bucket_next = t->free_entry;
	t->free_entry = i;
	t->n_entries--;
}

static void evict_oldest(struct names *t)
{
	entry_remove(t, t->oldest);
	t->evicted++;
}

static uint32_t entry_take(struct names *t)
{
	uint32_t i;

	if (t->n_entries == NAMES_CAPACITY)
		evict_oldest(t);
	i = t->free_entry;
	if (i)
		t->free_entry = t->entry[i].bucket_next;
	else
		i = ++t->fresh_entry;
	t->n_entries++;
	return i;
}

uint32_t names_table_entry(struct names *t, const struct name *name)
{
	uint64_t hash = names_table_hash(name);
	uint32_t i = names_table_find_hash(t, hash), *bucket;

	if (i && !name_equal(&t->entry[i].name, name)) {
		entry_remove(t, i);
		i = 0;
	}
	if (i) {
		names_table_touch(t, i);
		return i;
	}
	i = entry_take(t);
	bucket = name_bucket(t, hash);
	t->entry[i] = (struct entry){.hash = hash, .bucket_next = *bucket, .name = *name};
	*bucket = i;
	use_push(t, i);
	return i;
}

/* Room for one more binding of entry i, which is the most recently used one. */
static uint32_t binding_take(struct names *t, uint32_t i, mono_t now)
{
	struct entry *e = &t->entry[i];
	uint32_t k;

	while (e->oldest && !binding_is_held(&t->binding[e->oldest], now))
		binding_remove(t, e->oldest);
	if (e->n_bindings == NAMES_BINDINGS_PER_NAME)
		binding_remove(t, e->oldest);
	while (t->n_bindings == NAMES_BINDINGS_CAPACITY)
		evict_oldest(t);
	k = t->free_binding;
	if (k)
		t->free_binding = t->binding[k].older;
	else
		k = ++t->fresh_binding;
	t->n_bindings++;
	e->n_bindings++;
	return k;
}

uint32_t names_table_find_binding(const struct names *t, uint32_t i, const struct addr *a)
{
	uint32_t k = i ? t->entry[i].newest : 0;

	while (k && !addr_equal(&t->binding[k].addr, a))
		k = t->binding[k].older;
	return k;
}

uint32_t names_table_bind(struct names *t, uint32_t i, const struct addr *a, mono_t now)
{
	uint32_t k = names_table_find_binding(t, i, a);

	if (k) {
		binding_unlink(t, k);
	} else {
		k = binding_take(t, i, now);
		t->binding[k] = (struct binding){.addr = *a, .entry = i};
	}
	binding_push(t, k);
	return k;
}

void names_table_show(struct names *t, uint32_t k)
{
	bucket_unlink(t, k);
	bucket_push(t, k);
}

/* --- numbers of synthetic addresses --- */

static_assert((int)NAMES_CAPACITY < (int)SYNTHETIC_LAST, "each name can have a number");

static uint32_t take_number(struct names *t, uint32_t i)
{
	do {
		t->synthetic_next = t->synthetic_next % SYNTHETIC_LAST + 1;
	} while (t->by_synthetic[t->synthetic_next]);
	t->by_synthetic[t->synthetic_next] = i;
	return t->synthetic_next;
}

uint32_t names_table_number(struct names *t, uint32_t i)
{
	if (!t->entry[i].synthetic)
		t->entry[i].synthetic = take_number(t, i);
	return t->entry[i].synthetic;
}
