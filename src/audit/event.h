/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event: a record as the JSON object that both logs have for it (sandgate-net(1)).
 *
 * Keys without a value are left out. A record has neither contents, credentials nor a query string,
 * so an event has none.
 */
#ifndef SG_AUDIT_EVENT_H
#define SG_AUDIT_EVENT_H

#include "audit/record.h"
#include "base/buf.h"
#include "policy/permission.h"

enum { EVENT_MAX = 4096 }; /* octets of an event, with room for its frame */

/* Makes the remedies, which cost more than all the rest of an event: those made lately are kept. */
struct event_printer;

/* `sandbox` and `catalogue` are borrowed. NULL without memory. */
struct event_printer *event_printer_new(const char *sandbox, const struct catalogue *catalogue);
void event_printer_free(struct event_printer *p);

/* The permissions that are on from now; NULL: none. Takes `on` over: an array and its strings. */
void event_printer_set_on(struct event_printer *p, char **on);

/* The word of an action: "sandgate.egress.deny". */
const char *event_action(enum record_kind kind);

/*
 * Appends the members of the object, without braces, "seq" and "suppressed":
 * "time":...,"sandbox":.... `r` is valid (record_valid).
 */
void event_print(struct event_printer *p, const struct record *r, struct buf *out);

#endif
