/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, answers and what flows ask of them, on the arrays and lists of names_table.h.
 *
 * Theory of operation. An answer has a serial number a family; the bindings that carry it are the
 * answer that may be given again until `until`. Older ones are still bound, and not in answers. In
 * the list of an entry the addresses of its latest answer come first, in the order of the answer,
 * since they are bound from the last one to the first.
 *
 * A binding is held for the dial, and shown while the sandbox may connect to it. An alias is the hash
 * of another name, which is looked up anew each time: it never keeps that name.
 */
#include "gate/names_table.h"

uint32_t names_clamp_ttl(uint32_t ttl)
{
	return ttl < NAMES_TTL_MIN ? NAMES_TTL_MIN : ttl > NAMES_TTL_MAX ? NAMES_TTL_MAX : ttl;
}

static mono_t after_seconds(mono_t now, uint32_t s)
{
	return mono_add_ms(now, (int64_t)s * 1000);
}

static bool is_shown(const struct binding *b, mono_t now)
{
	return mono_before(now, b->shown_until);
}

/* Returns false when the same answer held the address already. */
static bool bind_one(struct names *t, uint32_t i, const struct addr *a, uint32_t serial,
		     enum names_use use, mono_t now)
{
	uint32_t k = names_table_find_binding(t, i, a);
	struct binding *b;

	if (k && t->binding[k].serial == serial)
		return false;
	k = names_table_bind(t, i, a, now);
	b = &t->binding[k];
	b->serial = serial;
	b->held_until = after_seconds(now, NAMES_HOLD_SECONDS);
	if (use == NAMES_SHOWN) {
		b->shown_until = b->held_until;
		names_table_show(t, k);
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
	i = names_table_entry(t, name);
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
	uint32_t i = names_table_entry(t, name);

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
	uint32_t i = names_table_find(t, name);
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
	names_table_touch(t, i);
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
	uint32_t i = names_table_entry(t, owner);

	t->entry[i].alias_hash = names_table_hash(target);
	t->entry[i].alias_until = after_seconds(now, NAMES_HOLD_SECONDS);
}

/* --- synthetic addresses --- */

bool names_addr_is_synthetic(const struct addr *a)
{
	return synthetic_number(a) != 0;
}

struct addr names_synthetic(struct names *t, const struct name *name, bool v4, mono_t now)
{
	return synthetic_addr(names_table_number(t, names_table_entry(t, name)), v4);
}

const struct name *names_synthetic_name(const struct names *t, const struct addr *a)
{
	uint32_t n = synthetic_number(a), i = n ? t->by_synthetic[n] : 0;

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
	k = names_table_shown(t, a);
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
	uint32_t k = names_table_find_binding(t, i, a);

	return k && is_shown(&t->binding[k], now);
}

/* The entry whose addresses entry i may be reached at as well; 0 for none. */
static uint32_t alias_of(const struct names *t, uint32_t i, mono_t now)
{
	const struct entry *e = &t->entry[i];

	return i && mono_before(now, e->alias_until) ? names_table_find_hash(t, e->alias_hash) : 0;
}

bool names_is_bound(const struct names *t, const struct name *name, const struct addr *a,
		    mono_t now)
{
	const struct name *synthetic = names_synthetic_name(t, a);
	uint32_t i = names_table_find(t, name), alias = alias_of(t, i, now);

	if (synthetic)
		return (i && synthetic == &t->entry[i].name) ||
		       (alias && synthetic == &t->entry[alias].name);
	return entry_shows(t, i, a, now) || entry_shows(t, alias, a, now);
}

size_t names_real_addresses(const struct names *t, const struct name *name, mono_t now,
			    struct addr out[], size_t max)
{
	uint32_t i = names_table_find(t, name);
	size_t n = 0;

	for (uint32_t k = i ? t->entry[i].newest : 0; k && n < max; k = t->binding[k].older)
		if (binding_is_held(&t->binding[k], now))
			out[n++] = t->binding[k].addr;
	return n;
}

void names_count(const struct names *t, struct names_counts *out)
{
	*out = (struct names_counts){t->n_entries, t->n_bindings, t->evicted};
}
