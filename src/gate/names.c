/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name table.
 *
 * Theory of operation. An *entry* is a name; a *binding* is a pair of entry and real address. Both
 * come from fixed arrays and are found by keyed hashes, so that a sandbox that chooses names cannot
 * choose collisions. A binding stands in the list of its entry and, when the sandbox was shown the
 * address, in that of the address's bucket. Being answered again moves it to the front, so each
 * list is ordered by time, the newest first; in the list of an entry the addresses of its latest
 * answer therefore come first, in the order of the answer.
 *
 * An answer has a serial number a family; the bindings that carry it are the answer that may be
 * given again until `until`. Older ones are still bound, and not in answers.
 *
 * Entries stand in one list by use. When either array is full the least recently used entry
 * goes, with all its bindings; the one that is being bound never does. An expired binding is not
 * looked for: it is invisible, and goes when its entry is bound anew or makes room.
 *
 * Everything is one anonymous mapping: pages that no name has touched cost nothing. Index 0 of each
 * array is "none", so that fresh memory is an empty table.
 *
 * A synthetic address is a number 1..131070 that belongs to one entry while that lives. Numbers are
 * given out in a circle: the number of a name that was evicted is not another's until all others
 * were used.
 */
#include "gate/names.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

enum {
	NAME_BUCKETS = 1 << 14,
	ADDR_BUCKETS = 1 << 16,
	SYNTHETICS = 1 << 17,		 /* 198.18.0.0/15 */
	SYNTHETIC_LAST = SYNTHETICS - 2, /* neither the first nor the last address of the range */
};

static_assert((int)NAMES_CAPACITY < (int)SYNTHETIC_LAST, "each name can have a number");

struct binding {
	struct addr addr;
	mono_t held_until;  /* for the dial */
	mono_t shown_until; /* for the sandbox; not after held_until */
	bool in_bucket;	    /* it was shown once */
	uint32_t entry;
	uint32_t serial;		 /* of the answer that carried it last */
	uint32_t newer, older;		 /* in the list of its entry */
	uint32_t addr_newer, addr_older; /* in the bucket of its address */
};

struct kept_answer {
	mono_t until;
	uint32_t serial;
	uint32_t epoch; /* one before the table's is forgotten */
	uint8_t n;	/* addresses */
	uint8_t state;
	bool shown;
};

struct entry {
	uint64_t hash;
	uint32_t bucket_next;	 /* or the next free one */
	uint32_t newer, older;	 /* by use */
	uint32_t newest, oldest; /* bindings */
	uint32_t n_bindings;
	uint32_t serial;
	uint32_t synthetic;
	uint64_t alias_hash; /* of the name that this one is also reached at */
	mono_t alias_until;
	struct kept_answer kept[NAMES_TYPES];
	struct name name;
};

struct names {
	uint32_t n_entries, n_bindings;
	uint32_t fresh_entry, fresh_binding; /* those above were never used */
	uint32_t free_entry, free_binding;
	uint32_t newest, oldest; /* entries, by use */
	uint32_t synthetic_next;
	uint64_t evicted;
	uint32_t epoch;
	uint32_t by_name[NAME_BUCKETS];
	uint32_t by_addr[ADDR_BUCKETS];
	uint32_t by_synthetic[SYNTHETICS];
	struct entry entry[NAMES_CAPACITY + 1];
	struct binding binding[NAMES_BINDINGS_CAPACITY + 1];
};

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

uint32_t names_clamp_ttl(uint32_t ttl)
{
	return ttl < NAMES_TTL_MIN ? NAMES_TTL_MIN : ttl > NAMES_TTL_MAX ? NAMES_TTL_MAX : ttl;
}

static mono_t after_seconds(mono_t now, uint32_t s)
{
	return mono_add_ms(now, (int64_t)s * 1000);
}

/* --- entries, by name and by use --- */

static uint64_t hash_of(const struct name *name)
{
	return name_hash(name->s, name->n);
}

static uint32_t *name_bucket(struct names *t, uint64_t hash)
{
	return &t->by_name[hash % NAME_BUCKETS];
}

static uint32_t find_hash(const struct names *t, uint64_t hash)
{
	uint32_t i = t->by_name[hash % NAME_BUCKETS];

	while (i && t->entry[i].hash != hash)
		i = t->entry[i].bucket_next;
	return i;
}

/* Two names with the same 64-bit keyed hash: the second is not found, and never taken for the
 * first. */
static uint32_t find(const struct names *t, const struct name *name, uint64_t hash)
{
	uint32_t i = find_hash(t, hash);

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

static void touch(struct names *t, uint32_t i)
{
	if (t->newest == i)
		return;
	use_unlink(t, i);
	use_push(t, i);
}

/* --- bindings, by entry and by address --- */

static uint32_t *addr_bucket(struct names *t, const struct addr *a)
{
	return &t->by_addr[name_hash((const char *)a->b, sizeof(a->b)) % ADDR_BUCKETS];
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

/*
 * The entry of the name, made when there is none, and now the most recently used one. An entry
 * with the same hash and another name would hide this one, and makes way.
 */
static uint32_t entry_of(struct names *t, const struct name *name)
{
	uint64_t hash = hash_of(name);
	uint32_t i = find_hash(t, hash), *bucket;

	if (i && !name_equal(&t->entry[i].name, name)) {
		entry_remove(t, i);
		i = 0;
	}
	if (i) {
		touch(t, i);
		return i;
	}
	i = entry_take(t);
	bucket = name_bucket(t, hash);
	t->entry[i] = (struct entry){.hash = hash, .bucket_next = *bucket, .name = *name};
	*bucket = i;
	use_push(t, i);
	return i;
}

static bool is_held(const struct binding *b, mono_t now)
{
	return mono_before(now, b->held_until);
}

static bool is_shown(const struct binding *b, mono_t now)
{
	return mono_before(now, b->shown_until);
}

/* Room for one more binding of entry i, which is the most recently used one. */
static uint32_t binding_take(struct names *t, uint32_t i, mono_t now)
{
	struct entry *e = &t->entry[i];
	uint32_t k;

	while (e->oldest && !is_held(&t->binding[e->oldest], now))
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

static uint32_t find_binding(const struct names *t, const struct entry *e, const struct addr *a)
{
	uint32_t k = e->newest;

	while (k && !addr_equal(&t->binding[k].addr, a))
		k = t->binding[k].older;
	return k;
}

/* The binding of entry i and the address, made when there is none. */
static uint32_t binding_of(struct names *t, uint32_t i, const struct addr *a, mono_t now)
{
	uint32_t k = find_binding(t, &t->entry[i], a);

	if (k) {
		binding_unlink(t, k);
	} else {
		k = binding_take(t, i, now);
		t->binding[k] = (struct binding){.addr = *a, .entry = i};
	}
	binding_push(t, k);
	return k;
}

/* Returns false when the same answer held the address already. */
static bool bind_one(struct names *t, uint32_t i, const struct addr *a, uint32_t serial,
		     enum names_use use, mono_t now)
{
	uint32_t k = find_binding(t, &t->entry[i], a);
	struct binding *b;

	if (k && t->binding[k].serial == serial)
		return false;
	k = binding_of(t, i, a, now);
	b = &t->binding[k];
	b->serial = serial;
	b->held_until = after_seconds(now, NAMES_HOLD_SECONDS);
	if (use == NAMES_SHOWN) {
		b->shown_until = b->held_until;
		bucket_unlink(t, k);
		bucket_push(t, k);
	}
	return true;
}

void names_bind(struct names *t, const struct name *name, enum names_type type,
		const struct addr *addrs, size_t n, uint32_t ttl, enum names_use use, mono_t now)
{
	uint32_t i, serial;
	uint8_t kept = 0;

	if (n == 0) {
		names_set_absent(t, name, type, NAMES_NODATA, ttl, now);
		return;
	}
	if (n > NAMES_ANSWER_MAX)
		n = NAMES_ANSWER_MAX;
	i = entry_of(t, name);
	serial = ++t->entry[i].serial;
	while (n--)
		kept += bind_one(t, i, &addrs[n], serial, use, now);
	t->entry[i].kept[type] = (struct kept_answer){
		.until = after_seconds(now, names_clamp_ttl(ttl)),
		.serial = serial,
		.epoch = t->epoch,
		.n = kept,
		.state = NAMES_ADDRESSES,
		.shown = use == NAMES_SHOWN,
	};
}

void names_set_absent(struct names *t, const struct name *name, enum names_type type,
		      enum names_state state, uint32_t ttl, mono_t now)
{
	uint32_t i = entry_of(t, name);

	t->entry[i].kept[type] = (struct kept_answer){
		.until = after_seconds(now, names_clamp_ttl(ttl)),
		.epoch = t->epoch,
		.state = (uint8_t)state,
	};
}

/* The addresses of the kept answer, or none when one of them made room for another since. */
static void collect_answer(const struct names *t, const struct entry *e,
			   const struct kept_answer *kept, struct names_answer *out)
{
	for (uint32_t k = e->newest; k && out->n < kept->n; k = t->binding[k].older)
		if (t->binding[k].serial == kept->serial)
			out->addrs[out->n++] = t->binding[k].addr;
	out->state = out->n == kept->n ? (enum names_state)kept->state : NAMES_UNKNOWN;
}

void names_answer(struct names *t, const struct name *name, enum names_type type, mono_t now,
		  struct names_answer *out)
{
	uint32_t i = find(t, name, hash_of(name));
	const struct kept_answer *kept;

	out->state = NAMES_UNKNOWN;
	out->shown = false;
	out->ttl = 0;
	out->n = 0;
	if (!i)
		return;
	kept = &t->entry[i].kept[type];
	if (kept->epoch != t->epoch || !mono_before(now, kept->until))
		return;
	touch(t, i);
	collect_answer(t, &t->entry[i], kept, out);
	out->shown = kept->shown;
	out->ttl = (uint32_t)((mono_ms_until(now, kept->until) + 999) / 1000);
}

void names_forget_answers(struct names *t)
{
	t->epoch++;
}

void names_set_alias(struct names *t, const struct name *owner, const struct name *target,
		     mono_t now)
{
	uint32_t i = entry_of(t, owner);

	t->entry[i].alias_hash = hash_of(target);
	t->entry[i].alias_until = after_seconds(now, NAMES_HOLD_SECONDS);
}

/* --- synthetic addresses --- */

static const struct addr synthetic_v6 = {{0xfd, 0x73, 0x61, 0x6e, 0x64, 0x67, 0, 5}};

/* The number in a synthetic address; 0 for any other address. */
static uint32_t synthetic_number(const struct addr *a)
{
	uint32_t v = (uint32_t)a->b[12] << 24 | (uint32_t)a->b[13] << 16 | (uint32_t)a->b[14] << 8 |
		     a->b[15];

	if (addr_is_v4(a))
		return v >> 17 == (198u << 24 | 18u << 16) >> 17 ? v & (SYNTHETICS - 1) : 0;
	if (memcmp(a->b, synthetic_v6.b, 12) != 0)
		return 0;
	return v <= SYNTHETIC_LAST ? v : 0;
}

bool names_addr_is_synthetic(const struct addr *a)
{
	uint32_t n = synthetic_number(a);

	return n >= 1 && n <= SYNTHETIC_LAST;
}

static uint32_t take_number(struct names *t, uint32_t i)
{
	do {
		t->synthetic_next = t->synthetic_next % SYNTHETIC_LAST + 1;
	} while (t->by_synthetic[t->synthetic_next]);
	t->by_synthetic[t->synthetic_next] = i;
	return t->synthetic_next;
}

struct addr names_synthetic(struct names *t, const struct name *name, bool v4, mono_t now)
{
	uint32_t i = entry_of(t, name), n;
	struct addr a = synthetic_v6;
	uint8_t octets[4] = {198, 18};

	if (!t->entry[i].synthetic)
		t->entry[i].synthetic = take_number(t, i);
	n = t->entry[i].synthetic;
	octets[1] |= (uint8_t)(n >> 16);
	octets[2] = (uint8_t)(n >> 8);
	octets[3] = (uint8_t)n;
	if (v4)
		return addr_from_v4(octets);
	a.b[13] = (uint8_t)(n >> 16);
	a.b[14] = octets[2];
	a.b[15] = octets[3];
	return a;
}

const struct name *names_synthetic_name(const struct names *t, const struct addr *a)
{
	uint32_t i = names_addr_is_synthetic(a) ? t->by_synthetic[synthetic_number(a)] : 0;

	return i ? &t->entry[i].name : NULL;
}

/* --- questions of the flows --- */

size_t names_bound_to(const struct names *t, const struct addr *a, mono_t now,
		      const struct name *out[], size_t max)
{
	const struct name *synthetic = names_synthetic_name(t, a);
	size_t n = 0;
	uint32_t k;

	if (synthetic && max) {
		out[0] = synthetic;
		return 1;
	}
	k = *addr_bucket((struct names *)t, a);
	for (; k && n < max; k = t->binding[k].addr_older) {
		const struct binding *b = &t->binding[k];

		if (!is_shown(b, now))
			break; /* the list is in order of time: all others are older */
		if (addr_equal(&b->addr, a))
			out[n++] = &t->entry[b->entry].name;
	}
	return n;
}

static bool entry_shows(const struct names *t, uint32_t i, const struct addr *a, mono_t now)
{
	uint32_t k = i ? find_binding(t, &t->entry[i], a) : 0;

	return k && is_shown(&t->binding[k], now);
}

/* The entry whose addresses entry i may be reached at as well; 0 for none. */
static uint32_t alias_of(const struct names *t, uint32_t i, mono_t now)
{
	const struct entry *e = &t->entry[i];

	return i && mono_before(now, e->alias_until) ? find_hash(t, e->alias_hash) : 0;
}

bool names_is_bound(const struct names *t, const struct name *name, const struct addr *a,
		    mono_t now)
{
	const struct name *synthetic = names_synthetic_name(t, a);
	uint32_t i = find(t, name, hash_of(name)), alias = alias_of(t, i, now);

	if (synthetic)
		return (i && synthetic == &t->entry[i].name) ||
		       (alias && synthetic == &t->entry[alias].name);
	return entry_shows(t, i, a, now) || entry_shows(t, alias, a, now);
}

size_t names_real_addresses(const struct names *t, const struct name *name, mono_t now,
			    struct addr out[], size_t max)
{
	uint32_t i = find(t, name, hash_of(name));
	size_t n = 0;

	for (uint32_t k = i ? t->entry[i].newest : 0; k && n < max; k = t->binding[k].older)
		if (is_held(&t->binding[k], now))
			out[n++] = t->binding[k].addr;
	return n;
}

void names_count(const struct names *t, struct names_counts *out)
{
	*out = (struct names_counts){t->n_entries, t->n_bindings, t->evicted};
}
