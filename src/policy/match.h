/* SPDX-License-Identifier: Apache-2.0 */
/* match: does one rule, whose target fits, match the rest of a destination? */
#ifndef SG_POLICY_MATCH_H
#define SG_POLICY_MATCH_H

#include "policy/decide.h"

/*
 * REASON_NONE when the rule's ports, protocol, methods and paths match; else what of it does not:
 * REASON_PORT_NOT_ALLOWED, REASON_METHOD_NOT_ALLOWED or REASON_PATH_NOT_ALLOWED.
 *
 * A rule with methods or paths that allows matches a connection whose request is still to come;
 * one that denies does not, since it may deny another request.
 */
enum reason rule_match(const struct rule *r, const struct destination *d);

/* Does the rule hold for a port and protocol, whatever the request? */
bool rule_covers_port(const struct rule *r, enum proto proto, uint16_t port);

/* Is there a port and protocol that both are for? */
bool rule_scopes_meet(const struct rule *a, const struct rule *b);

/* Is every name or address of `narrow` one of `wide`? */
bool rule_target_holds(const struct rule *wide, const struct rule *narrow);

/* Does an allow rule admit all that another one admits, and with no look less? */
bool rule_admits_all_of(const struct rule *wide, const struct rule *narrow);

/* Does `deny` take away all that `allow` gives, where its target fits? */
bool rule_takes_all_of(const struct rule *deny, const struct rule *allow);

/* Does a deny rule cover every port, protocol and request of its target? */
bool rule_covers_everything(const struct rule *r);

#endif
