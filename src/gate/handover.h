/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover: which connections have hosts whose requests have to be seen (policy/inspects.h), and
 * their way to the broker.
 */
#ifndef SG_GATE_HANDOVER_H
#define SG_GATE_HANDOVER_H

#include "gate/broker_door.h"
#include "gate/flow.h"

/* What is asked about: a connection, or datagrams, to an address. */
struct carried {
	const struct gate *gate;
	const struct endpoint *dst; /* as the sandbox sees it */
	const struct addr *dialled;
	const struct name *name; /* that it was admitted by; NULL: none */
	/*
	 * Admitted whatever it carries, by a rule for the address, a raw one, or at another port:
	 * methods and operations do not count, since that rule is for all there is. What was asked
	 * for by name, a credential or `inspect:`, does.
	 */
	bool whole;
};

struct carried carried_by(const struct flow *fl);

/* Do requests to this name have to be seen there? */
bool carried_is_due(const struct carried *c, const struct name *name);

/* Is it true of the name that it was admitted by, or of one that was looked up for its address? */
bool carried_is_owed(const struct carried *c);

/*
 * Then nothing goes there that could be for that host under no name, or under one that was not
 * looked up for the address: `inside` is NULL or the name that it carries.
 */
bool carried_is_dodged(const struct carried *c, const struct name *inside);

/*
 * Hands over a flow that was admitted by its name and of whose client no octet has passed; `flags`
 * as in io/gate_message.h. REASON_NONE: it is gone. Else why not, and it stays as it is:
 * REASON_NOT_INSPECTED when the server has spoken already.
 */
enum reason handover_make(struct flow *fl, uint8_t flags);

#endif
