/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: what would happen to a destination that a person names, and why.
 *
 * The same decide() as the data plane's, asked in the order in which the data
 * plane asks: the lookup, the connection, then what stands inside it.
 */
#ifndef SG_POLICY_EXPLAIN_H
#define SG_POLICY_EXPLAIN_H

#include "policy/decide.h"

enum {
	EXPLAIN_PERMISSION_MAX = 64,
	EXPLAIN_METHOD_MAX = 32,
	EXPLAIN_PATH_MAX = 2048,
	EXPLAIN_NOTE_MAX = 384
};

struct explain_target {
	bool has_name, has_addr; /* exactly one, unless the caller adds an address to a name */
	struct name name;
	struct addr addr;
	uint16_t port; /* 0 for ICMP */
	enum proto proto;
	char method[EXPLAIN_METHOD_MAX]; /* empty: not seen by the gate */
	char path[EXPLAIN_PATH_MAX];	 /* empty: not seen by the gate */
	bool path_unseen;		 /* a path was written, but on 443 it is not looked at */
};

struct explanation {
	struct explain_target target;
	struct verdict verdict;
	char rule[RULE_TEXT_MAX]; /* empty: none */
	char permission
		[EXPLAIN_PERMISSION_MAX]; /* the id of the one the rule stands for; empty: none */
	char remedy[REMEDY_MAX];	  /* empty: none */
	char note[EXPLAIN_NOTE_MAX];	  /* what the verdict leaves open; empty: nothing */
};

/*
 * "https://api.github.com/repos/x/y", "db.example.com:5432", "10.0.0.5:22/tcp",
 * "[2001:db8::1]:443", "10.0.0.5/icmp". Without a port: 443 over TCP.
 */
int explain_parse_target(const char *text, struct explain_target *t, struct err *e) sg_must_check;

/* `host` may be NULL. */
void explain_decide(const struct ruleset *rs, const struct host_prefixes *host,
		    const struct remedy_for *who, const struct explain_target *t,
		    struct explanation *out);

/* One line of JSON with the keys of sandgate-net(1); the caller frees. NULL without memory. */
char *explain_print_json(const struct explanation *x);

/* A few lines for a person, ending in a newline; the caller frees. NULL without memory. */
char *explain_print_text(const struct explanation *x);

#endif
