/* SPDX-License-Identifier: Apache-2.0 */
/* plan: what one airlock is to be, with nothing left open. */
#ifndef SG_AIRLOCK_PLAN_H
#define SG_AIRLOCK_PLAN_H

#include "airlock/airlock.h"
#include "airlock/link.h"

struct airlock_plan {
	enum airlock_link link;
	enum airlock_others others;
	const struct airlock_inbound *inbound; /* what becomes door0; NULL: nothing */
	bool door, capture;
	bool v6; /* the kernel has IPv6 */
	uid_t uid;
	gid_t gid;
	struct airlock_addresses addresses;
	char device[LINK_NAME_SIZE]; /* the sandbox's end */
	uint8_t mac[LINK_MAC_OCTETS];
	uint32_t mtu;
	uint32_t eth0_index, link0_index; /* of the two ends; door0 has that of eth0 */
};

/* 0, or -1 for a configuration that no link can have. */
int airlock_plan_make(const struct airlock_config *c, struct airlock_plan *out,
		      struct err *e) sg_must_check;

/* Of its family the first, which the link has anyway. */
static inline bool plan_is_first_address(const struct airlock_plan *p, const struct addr *a)
{
	return addr_equal(a, &p->addresses.sandbox_v4) || addr_equal(a, &p->addresses.sandbox_v6);
}

#endif
