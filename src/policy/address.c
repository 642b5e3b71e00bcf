/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/address.h"

#include <endian.h>

#include "base/compiler.h"

/* The first or second half of an address as a number. */
static inline uint64_t half(const struct addr *a, unsigned which)
{
	uint64_t v;

	memcpy(&v, a->b + 8 * which, sizeof(v));
	return be64toh(v);
}

static inline uint64_t high_bits(unsigned n)
{
	return n == 0 ? 0 : ~UINT64_C(0) << (64 - n);
}

/* prefix_contains() without a call: it runs once for each range of a table. */
static inline bool holds(const struct prefix *p, uint64_t hi, uint64_t lo)
{
	unsigned first = p->bits < 64 ? p->bits : 64;
	unsigned second = p->bits - first;

	return ((half(&p->addr, 0) ^ hi) & high_bits(first)) == 0 &&
	       ((half(&p->addr, 1) ^ lo) & high_bits(second)) == 0;
}

static uint32_t v4_number(const struct addr *a)
{
	uint32_t v;

	memcpy(&v, addr_v4_octets(a), sizeof(v));
	return be32toh(v);
}

static struct special classify_v4(const struct addr *a)
{
	uint32_t v = v4_number(a);
	size_t from = 0, to = catalogue_n_special_v4;

	while (from < to) {
		size_t middle = (from + to) / 2;
		const struct special_v4 *row = &catalogue_special_v4[middle];

		if (v < row->lo)
			to = middle;
		else if (v > row->hi)
			from = middle + 1;
		else
			return (struct special){row->kind, row->text};
	}
	return (struct special){SPECIAL_PUBLIC, NULL};
}

/* The interface identifier of ISATAP (RFC 5214, 6.1), under any prefix. */
static bool is_isatap(uint64_t lo)
{
	uint32_t mark = (uint32_t)(lo >> 32) & ~UINT32_C(0x02000000);

	return mark == 0x00005efe;
}

static struct special classify_v6(const struct addr *a)
{
	uint64_t hi = half(a, 0), lo = half(a, 1);

	for (size_t i = 0; i < catalogue_n_special_v6; i++) {
		const struct special_v6 *row = &catalogue_special_v6[i];

		if (!holds(&row->prefix, hi, lo))
			continue;
		if (is_isatap(lo) && (row->kind == SPECIAL_PUBLIC || row->kind == SPECIAL_PRIVATE))
			return (struct special){SPECIAL_WITHHELD, "ISATAP (RFC 5214)"};
		if (row->kind == SPECIAL_PUBLIC)
			return (struct special){SPECIAL_PUBLIC, NULL};
		return (struct special){row->kind, row->text};
	}
	return (struct special){SPECIAL_WITHHELD, "not global unicast"};
}

struct addr address_unwrap(const struct addr *a)
{
	if (addr_is_v4(a) || classify_v6(a).kind != SPECIAL_UNWRAP)
		return *a;
	return addr_from_v4(a->b + 12);
}

struct special address_classify(const struct addr *a)
{
	struct special s;
	struct addr inner;

	if (addr_is_v4(a))
		return classify_v4(a);
	s = classify_v6(a);
	if (s.kind != SPECIAL_UNWRAP)
		return s;
	inner = addr_from_v4(a->b + 12);
	return classify_v4(&inner);
}

/*
 * An address of the host itself is withheld as loopback is: behind it stand services that the
 * host offers to itself. A connected subnet is like any private network.
 */
static struct special classify_by_host(const struct host_prefixes *host, const struct addr *a)
{
	uint64_t hi = half(a, 0), lo = half(a, 1);
	bool connected = false;

	for (size_t i = 0; i < host->n; i++) {
		if (!holds(&host->prefix[i], hi, lo))
			continue;
		if (host->prefix[i].bits == 128)
			return (struct special){SPECIAL_WITHHELD, "an address of this host"};
		connected = true;
	}
	if (connected)
		return (struct special){SPECIAL_PRIVATE, "a network of this host"};
	return (struct special){SPECIAL_PUBLIC, NULL};
}

struct special address_classify_for(const struct host_prefixes *host, const struct addr *a)
{
	struct special by_table = address_classify(a), by_host;
	struct addr judged;

	if (!host || host->n == 0)
		return by_table;
	judged = address_unwrap(a);
	by_host = classify_by_host(host, &judged);
	if (by_table.kind == SPECIAL_PUBLIC)
		return by_host;
	/* The table knows better what a subnet is, but not that an address is the host's own. */
	if (by_table.kind == SPECIAL_PRIVATE && by_host.kind == SPECIAL_WITHHELD)
		return by_host;
	return by_table;
}

const char *address_special(const struct host_prefixes *host, const struct addr *a)
{
	return address_classify_for(host, a).text;
}
