/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: which addresses were handed out for which name, both ways.
 *
 * An address is *bound* to a name from the answer that carried it until 24 hours after the last
 * answer that did; a connection to it may then use that name. An answer may be given again
 * from here until its TTL (5..60 s) has passed. Memory is bounded: see names_table.h.
 *
 * With synthetic answers the sandbox sees one private address a name instead; the real ones are
 * kept here for the dial.
 *
 * Every `now` is the caller's clock; nothing here reads one. Pointers to a `struct name` that a
 * function hands out live until the next call that binds or touches a name.
 */
#ifndef SG_GATE_NAMES_H
#define SG_GATE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/name.h"

enum {
	NAMES_ANSWER_MAX = 16, /* addresses in one answer */
	NAMES_TTL_MIN = 5,     /* seconds */
	NAMES_TTL_MAX = 60,
	NAMES_HOLD_SECONDS = 24 * 3600,	 /* an address stays bound after its last answer */
	NAMES_CAPACITY = 16384,		 /* names; the least recently asked makes room */
	NAMES_BINDINGS_CAPACITY = 65536, /* pairs of name and address */
	NAMES_BINDINGS_PER_NAME = 128,
};

/* What an answer is about. NAMES_HTTPS keeps negative answers only. */
enum names_type { NAMES_A, NAMES_AAAA, NAMES_HTTPS, NAMES_TYPES };

enum names_state {
	NAMES_UNKNOWN,	 /* ask the resolver */
	NAMES_ADDRESSES, /* addresses that are still fresh */
	NAMES_NODATA,	 /* the name exists, this type does not */
	NAMES_NXDOMAIN,
};

struct names;

/* NULL without memory. Address space only is taken until names arrive. */
struct names *names_new(void);
void names_free(struct names *t);

/* Clamps a TTL to what the sandbox may see, NAMES_TTL_MIN..NAMES_TTL_MAX. */
uint32_t names_clamp_ttl(uint32_t ttl);

enum names_use {
	NAMES_SHOWN,	/* the sandbox sees the addresses, and may connect to them */
	NAMES_FOR_DIAL, /* it sees a synthetic one: these are dialled for it, and are not bound */
};

/*
 * Binds up to NAMES_ANSWER_MAX vetted addresses of one family to the name, and keeps the
 * answer for `ttl` seconds (clamped). Addresses of earlier answers stay bound their 24 hours.
 * n == 0 is names_set_absent() with NAMES_NODATA.
 */
void names_bind(struct names *t, const struct name *name, enum names_type type,
		const struct addr *addrs, size_t n, uint32_t ttl, enum names_use use, mono_t now);

/* Keeps a negative answer, NAMES_NODATA or NAMES_NXDOMAIN, for `ttl` seconds (clamped). */
void names_set_absent(struct names *t, const struct name *name, enum names_type type,
		      enum names_state state, uint32_t ttl, mono_t now);

struct names_answer {
	enum names_state state;
	bool shown;   /* the addresses are bound, and not only kept for the dial */
	uint32_t ttl; /* seconds left, at least 1; 0 when unknown */
	size_t n;
	struct addr addrs[NAMES_ANSWER_MAX]; /* in the order of the answer */
};

/* The answer that is still fresh; counts as a use of the name. */
void names_answer(struct names *t, const struct name *name, enum names_type type, mono_t now,
		  struct names_answer *out);

/* No answer is given again; what was bound stays bound. */
void names_forget_answers(struct names *t);

/*
 * `owner` may also be reached at the addresses bound to `target`: an admitted SVCB alias or
 * target name (RFC 9460, 2.4). The latest one is kept, its 24 hours.
 */
void names_set_alias(struct names *t, const struct name *owner, const struct name *target,
		     mono_t now);

/*
 * The names the address is bound to, the most recently answered first. Returns how many of at
 * most `max` were stored; there may be more: names_is_bound() is exact for any name. A
 * synthetic address has its one name.
 */
size_t names_bound_to(const struct names *t, const struct addr *addr, mono_t now,
		      const struct name *out[], size_t max);

/* Was the address handed out for this name in the last 24 hours? (A synthetic one: is it its?) */
bool names_is_bound(const struct names *t, const struct name *name, const struct addr *addr,
		    mono_t now);

/*
 * The addresses that the name was resolved to in the last 24 hours, both families, those of the
 * latest answer first. For the dial of a synthetic address. Returns the number stored.
 */
size_t names_real_addresses(const struct names *t, const struct name *name, mono_t now,
			    struct addr out[], size_t max);

/* 198.18.0.0/15 or fd73:616e:6467:5::/64: an address that names_synthetic() may have made. */
bool names_addr_is_synthetic(const struct addr *addr);

/* The one synthetic address of the name in this family, made when there is none yet. */
struct addr names_synthetic(struct names *t, const struct name *name, bool v4, mono_t now);

/* The name of a synthetic address; NULL for one that is not in use. */
const struct name *names_synthetic_name(const struct names *t, const struct addr *addr);

struct names_counts {
	uint32_t names, bindings;
	uint64_t evicted; /* names that made room since the start */
};
void names_count(const struct names *t, struct names_counts *out);

#endif
