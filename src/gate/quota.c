/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/quota.h"

#include <sys/mman.h>

enum { HOSTS = 1024, PROBES = 16 };

struct host_count {
	uint64_t host; /* 0: free */
	uint64_t octets;
};

struct quota {
	uint64_t octets;
	struct host_count shared; /* of those without a place */
	struct host_count host[HOSTS];
};

struct quota *quota_new(void)
{
	void *p = mmap(NULL, sizeof(struct quota), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

uint64_t quota_host(const struct name *name, const struct addr *addr)
{
	uint64_t h = name && name->n ? name_hash(name->s, name->n)
				     : name_hash((const char *)addr->b, sizeof(addr->b));

	return h ? h : 1;
}

void quota_free(struct quota *q)
{
	if (q)
		munmap(q, sizeof(*q));
}

/* The place of a host, or a free one for it, or the shared one. */
static size_t place_of(const struct quota *q, uint64_t host)
{
	for (size_t i = 0; i < PROBES; i++) {
		size_t at = (host + i) % HOSTS;

		if (q->host[at].host == host || q->host[at].host == 0)
			return at;
	}
	return HOSTS;
}

static uint64_t sent_to(const struct quota *q, uint64_t host)
{
	size_t at = place_of(q, host);

	return at == HOSTS ? q->shared.octets : q->host[at].octets;
}

static uint64_t rest(uint64_t limit, uint64_t used)
{
	return limit == 0 ? UINT64_MAX : used >= limit ? 0 : limit - used;
}

uint64_t quota_left(const struct quota *q, const struct limits *l, uint64_t host, enum reason *why)
{
	uint64_t all = rest(l->bytes_out, q->octets);
	uint64_t one =
		l->bytes_out_per_host ? rest(l->bytes_out_per_host, sent_to(q, host)) : UINT64_MAX;

	*why = all == 0 ? REASON_LIMIT_BYTES : REASON_LIMIT_BYTES_PER_HOST;
	return all < one ? all : one;
}

/* The count of a host that has a place or gets one, or the one of those without. */
static uint64_t *count_of(struct quota *q, uint64_t host)
{
	size_t at = place_of(q, host);

	if (at == HOSTS)
		return &q->shared.octets;
	q->host[at].host = host;
	return &q->host[at].octets;
}

void quota_spend(struct quota *q, const struct limits *l, uint64_t host, uint64_t octets)
{
	q->octets += octets;
	if (l->bytes_out_per_host)
		*count_of(q, host) += octets;
}

/* The limit may be another one than when it was spent: a count does not fall below nothing. */
static void take_back(uint64_t *count, uint64_t octets)
{
	*count -= octets < *count ? octets : *count;
}

void quota_return(struct quota *q, const struct limits *l, uint64_t host, uint64_t octets)
{
	take_back(&q->octets, octets);
	if (l->bytes_out_per_host)
		take_back(count_of(q, host), octets);
}
