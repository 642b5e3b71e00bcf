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

/* Frees what the rule holds, and empties it. */
void rule_clear(struct rule *r);

/* Moves the rule to the end of p, also when it fails for want of memory. */
int policy_take_rule(struct policy *p, struct rule *r, struct err *e) sg_must_check;

/* NULL-terminated lists of strings, which go with their list. A copy is NULL without memory. */
void string_list_free(char **list);
char **string_list_copy(char *const *list);

#endif
