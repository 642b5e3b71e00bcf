/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_table: where names and their addresses stand. For names.c only.
 *
 * Theory of operation. An *entry* is a name; a *binding* is a pair of entry and real address. Both
 * come from fixed arrays and are found by keyed hashes, so that a sandbox that chooses names cannot
 * choose collisions. A binding stands in the list of its entry and, when the sandbox was shown the
 * address, in that of the address's bucket. Being answered again moves it to the front, so each
 * list is ordered by time, the newest first.
 *
 * Entries stand in one list by use. When either array is full the least recently used entry
 * goes, with all its bindings; the one that is being bound never does. An expired binding is not
 * looked for: it is invisible, and goes when its entry is bound anew or makes room.
 *
 * Everything is one anonymous mapping: pages that no name has touched cost nothing. Index 0 of each
 * array is "none", so that fresh memory is an empty table. An index is good until the next call that
 * may make an entry or a binding: that one may make room.
 *
 * The number of a synthetic address (synthetic.h) belongs to one entry while that lives. Numbers are
 * given out in a circle: the number of a name that was evicted is not another's until all others
 * were used.
 */
#ifndef SG_GATE_NAMES_TABLE_H
#define SG_GATE_NAMES_TABLE_H

#include "gate/names.h"
#include "gate/synthetic.h"

enum {
	NAME_BUCKETS = 1 << 14,
	ADDR_BUCKETS = 1 << 16,
};

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
	uint32_t by_synthetic[SYNTHETIC_NUMBERS];
	struct entry entry[NAMES_CAPACITY + 1];
	struct binding binding[NAMES_BINDINGS_CAPACITY + 1];
};

/* May it still be dialled? One that is not held any more makes room first. */
static inline bool binding_is_held(const struct binding *b, mono_t now)
{
	return mono_before(now, b->held_until);
}

static inline uint64_t names_table_hash(const struct name *name)
{
	return name_hash(name->s, name->n);
}

/* The entry with this hash, or 0. */
uint32_t names_table_find_hash(const struct names *t, uint64_t hash);

/*
 * The entry of the name, or 0. Two names with the same 64-bit keyed hash: the second is not found,
 * and never taken for the first.
 */
uint32_t names_table_find(const struct names *t, const struct name *name);

/*
 * The entry of the name, made when there is none, and now the most recently used one. An entry
 * with the same hash and another name would hide this one, and makes way.
 */
uint32_t names_table_entry(struct names *t, const struct name *name);

/* Now the most recently used one. */
void names_table_touch(struct names *t, uint32_t entry);

/* The binding of the entry and the address; 0: none, or entry 0. */
uint32_t names_table_find_binding(const struct names *t, uint32_t entry, const struct addr *a);

/*
 * The same, made when there is none, and now at the front of its entry's list. The entry is the most
 * recently used one, and keeps its place.
 */
uint32_t names_table_bind(struct names *t, uint32_t entry, const struct addr *a, mono_t now);

/* The sandbox is shown the address: to the front of the address's bucket. */
void names_table_show(struct names *t, uint32_t binding);

/* The first binding of the bucket of the address, in which others may stand as well; 0: none. */
uint32_t names_table_shown(const struct names *t, const struct addr *a);

/* The number of the entry, given out when it has none. */
uint32_t names_table_number(struct names *t, uint32_t entry);

#endif
