/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule: reading one rule of a person's, piece by piece, and what its pieces mean together.
 *
 * Both forms (docs/policy.md) fill the same `struct rule` through the functions here, so that the
 * short and the long form cannot come to differ. A message names what is wrong and what to write;
 * the caller puts the entry, or its place in a file, before it.
 */
#ifndef SG_POLICY_RULE_H
#define SG_POLICY_RULE_H

#include "policy/policy.h"
#include "policy/strings.h"

/* TARGET[:PORTS][/PROTO] or site:HOST. On an error r is empty. 0 or -1. */
int rule_parse_short(struct span text, enum effect effect, struct rule *r,
		     struct err *e) sg_must_check;

/* The pieces of a short form, not yet read. */
struct short_form {
	struct span target;
	bool brackets; /* the target stood between [ and ] */
	bool has_ports, has_proto;
	struct span ports, proto;
};
int rule_cut_short(struct span text, struct short_form *f, struct err *e) sg_must_check;

/* 0, or -1 with the message when the text is a URL. */
int rule_refuse_url(struct span text, struct err *e) sg_must_check;

/* A name, wildcard, address or network, without ports; `brackets`: it stood between [ and ]. */
int rule_parse_target(struct span text, bool brackets, struct rule *r, struct err *e) sg_must_check;

/* "22,443", "1000-2000" or "*", added to the rule's ports. */
int rule_parse_ports(struct span text, struct rule *r, struct err *e) sg_must_check;

/* "tcp", "udp", "icmp", "raw", or several joined by "+". */
int rule_parse_proto(struct span text, struct rule *r, struct err *e) sg_must_check;

/* What the pieces say together; a rule that could not be enforced as written is refused. */
int rule_check(const struct rule *r, struct err *e) sg_must_check;

/* Does it hold for some requests only? */
static inline bool rule_is_about_requests(const struct rule *r)
{
	return r->detail && (r->detail->methods || r->detail->paths);
}

/* What the rule covers when its defaults are filled in; points into r or to constants. */
struct rule_scope {
	uint8_t protos; /* bits of enum proto */
	size_t n;
	const struct port_range *ports; /* for TCP and UDP */
};
struct rule_scope rule_scope_of(const struct rule *r);

/* The detail, made when there is none yet. NULL without memory, with the message. */
struct rule_detail *rule_need_detail(struct rule *r, struct err *e);

/* A rule of its own, with all it holds. 0 or -ENOMEM, then `to` is empty. */
int rule_copy(const struct rule *from, struct rule *to) sg_must_check;

bool rule_has_same_target(const struct rule *a, const struct rule *b);

/* True when b says what a says, whatever its note and however it is spelt. */
bool rule_says_same(const struct rule *a, const struct rule *b);

/* Frees what the rule holds, and empties it. */
void rule_clear(struct rule *r);

/* Moves the rule to the end of p, also when it fails for want of memory. */
int policy_take_rule(struct policy *p, struct rule *r, struct err *e) sg_must_check;

/* The same for a list that stands by itself. */
int rule_list_take(struct rule_list *list, struct rule *r, struct err *e) sg_must_check;
void rule_list_free(struct rule_list *list);
/* A list of its own with copies of n rules. 0 or -ENOMEM, then `to` is empty. */
int rule_list_copy(const struct rule *rules, size_t n, struct rule_list *to) sg_must_check;

/* All of a policy but its rules, own and resolved. 0 or -ENOMEM; `to` may be freed either way. */
int policy_copy_settings(const struct policy *from, struct policy *to) sg_must_check;

void resolved_free(struct resolved *r);

#endif
