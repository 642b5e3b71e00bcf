/* SPDX-License-Identifier: Apache-2.0 */
/* plan: what one airlock is to be, with nothing left open. */
#ifndef SG_AIRLOCK_PLAN_H
#define SG_AIRLOCK_PLAN_H

#include "airlock/airlock.h"
#include "airlock/link.h"

struct airlock_plan {
	enum airlock_link link;
	enum airlock_others others;
	bool door, capture;
	bool v6; /* the kernel has IPv6 */
	uid_t uid;
	gid_t gid;
	struct airlock_addresses addresses;
	char device[LINK_NAME_SIZE]; /* the sandbox's end */
	uint8_t mac[LINK_MAC_OCTETS];
	uint32_t mtu;
};

/* 0, or -1 for a configuration that no link can have. */
int airlock_plan_make(const struct airlock_config *c, struct airlock_plan *out,
		      struct err *e) sg_must_check;

#endif
