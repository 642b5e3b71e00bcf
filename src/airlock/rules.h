/* SPDX-License-Identifier: Apache-2.0 */
/* rules: the airlock's nftables rules, loaded once and never changed, and their counters. */
#ifndef SG_AIRLOCK_RULES_H
#define SG_AIRLOCK_RULES_H

#include "airlock/airlock.h"
#include "airlock/netlink.h"
#include "airlock/plan.h"

/* Loads everything in one transaction; link0 must exist, tun0 need not. 0 or -1. */
int rules_load(const struct airlock_plan *p, struct err *e) sg_must_check;

/* `netfilter` is a queue on NETLINK_NETFILTER. 0 or -errno. */
int rules_read_counters(struct nl *netfilter, struct airlock_counters *out) sg_must_check;

#endif
