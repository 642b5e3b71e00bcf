/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_request: a change of a policy as a message of the control socket (docs/protocol.md); pure.
 */
#ifndef SG_SANDBOX_CHANGE_REQUEST_H
#define SG_SANDBOX_CHANGE_REQUEST_H

#include <jansson.h>

#include "policy/change.h"

enum { CHANGE_ITEMS_MAX = 1024 }; /* of each list */

struct change_request {
	struct policy_change change; /* borrows from the message; its lists are owned */
	bool dry_run;
};

/* The message; NULL without memory. */
json_t *change_request_print(const struct policy_change *change, bool dry_run);

/*
 * Strict: every key known, every value of its kind. 0, or -1 with the message and nothing to free.
 */
int change_request_parse(const json_t *message, struct change_request *out,
			 struct err *e) sg_must_check;
void change_request_free(struct change_request *r);

#endif
