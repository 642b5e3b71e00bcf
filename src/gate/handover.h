/* SPDX-License-Identifier: Apache-2.0 */
/* handover: a flow whose requests have to be seen goes on at the broker. */
#ifndef SG_GATE_HANDOVER_H
#define SG_GATE_HANDOVER_H

#include "gate/broker_door.h"
#include "gate/flow.h"

/* Do requests to this name have to be seen, at the flow's address and port? */
bool handover_is_due(const struct flow *fl, const struct name *name);

/*
 * Hands over a flow that was admitted by its name and of which no octet has passed; `flags` as in
 * io/gate_message.h. REASON_NONE: it is gone. Else why not, and it stays as it is.
 */
enum reason handover_make(struct flow *fl, uint8_t flags);

#endif
