/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cni: what the plugin does. Alone it makes a pod's only link, with addresses of its own or of an
 * IPAM plugin. Behind a plugin such as bridge or ptp it takes the place of what that made: the pod
 * keeps its addresses, what is opened from outside still comes in (inbound.h), and what the pod opens
 * passes the gate.
 */
#ifndef SG_CNI_CNI_H
#define SG_CNI_CNI_H

#include "cni/call.h"
#include "cni/config.h"
#include "policy/policy.h"
#include "sandbox/settings/sources.h"

/* A call, as it came. */
struct cni_request {
	struct cni_call call;
	struct cni_config config;
	struct span text; /* that `config` was read from */
};

/*
 * ADD: a gate by that policy before the namespace. CNI_OK and the result, a new object; else the code
 * with the message, and nothing is left.
 */
enum cni_code cni_add(const struct cni_request *q, const struct policy *policy,
		      const struct sources *sources, json_t **result, struct err *e) sg_must_check;

/* CHECK: whether the gate is there, and nothing else leads out. */
enum cni_code cni_check(const struct cni_request *q, struct err *e) sg_must_check;

/*
 * DEL, as often as one likes, of what is there still. Behind another plugin it leaves, in the place of
 * the link, a device that leads nowhere, with the addresses: those plugins take back what they did
 * for them by what they find there.
 */
enum cni_code cni_del(const struct cni_request *q, struct err *e) sg_must_check;

#endif
