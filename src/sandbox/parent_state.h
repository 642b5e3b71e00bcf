/* SPDX-License-Identifier: Apache-2.0 */
/* parent_state: the settings of the proxy that this host has to use, as gate and broker need them. */
#ifndef SG_SANDBOX_PARENT_STATE_H
#define SG_SANDBOX_PARENT_STATE_H

#include "broker/broker.h"
#include "policy/parent_proxy.h"
#include "sandbox/settings/settings.h"

struct parent_state {
	struct parent_proxy proxy; /* n is 0: there is none */
	struct broker_parent broker;
	struct parent_url url; /* what `broker` borrows from */
};

/*
 * Looks its host up, once, as the host does: it may take as long as that. 0, or -1 with the message:
 * nothing starts without it, since nothing may be dialled directly.
 */
int parent_state_read(struct parent_state *p, const struct settings *s,
		      struct err *e) sg_must_check;

#endif
