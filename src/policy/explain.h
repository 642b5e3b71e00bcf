/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: what would happen to a destination that a person names, and why.
 *
 * The same decide() as the data plane's, asked in the order in which the data
 * plane asks: the lookup, the connection, then what stands inside it.
 */
#ifndef SG_POLICY_EXPLAIN_H
#define SG_POLICY_EXPLAIN_H

#include "policy/inspects.h"

enum {
	EXPLAIN_PERMISSION_MAX = 64,
	EXPLAIN_METHOD_MAX = 32,
	EXPLAIN_PATH_MAX = 2048,
	EXPLAIN_OPERATION_MAX = 128,
	EXPLAIN_CREDENTIAL_MAX = 512,
	EXPLAIN_NOTE_MAX = 384
};

struct explain_target {
	bool has_name, has_addr; /* exactly one, unless the caller adds an address to a name */
	struct name name;
	struct addr addr;
	uint16_t port; /* 0 for ICMP */
	enum proto proto;
	char method[EXPLAIN_METHOD_MAX]; /* of a request that is asked about; empty: none is */
	char path[EXPLAIN_PATH_MAX];	 /* the same */
};

struct explanation {
	struct explain_target target; /* without a request where none is seen */
	bool request_unseen;	      /* one was asked about */
	enum inspects_why inspects;
	struct verdict verdict;
	char rule[RULE_TEXT_MAX]; /* empty: none */
	char permission
		[EXPLAIN_PERMISSION_MAX]; /* the id of the one the rule stands for; empty: none */
	/* What the request is, "push", and to which permission; empty: nothing is said of that. */
	char operation[EXPLAIN_OPERATION_MAX];
	char operation_of[EXPLAIN_PERMISSION_MAX];
	char credential[EXPLAIN_CREDENTIAL_MAX]; /* what is added to the request; empty: none */
	char remedy[REMEDY_MAX];		 /* empty: none */
	char note[EXPLAIN_NOTE_MAX];		 /* what the verdict leaves open; empty: nothing */
};

/*
 * "https://api.github.com/repos/x/y", "db.example.com:5432", "10.0.0.5:22/tcp",
 * "[2001:db8::1]:443", "10.0.0.5/icmp". Without a port: 443 over TCP. A URL asks about a request
 * as well, a GET.
 */
int explain_parse_target(const char *text, struct explain_target *t, struct err *e) sg_must_check;

/* The same request with another method. Of a target that is no URL it is refused. */
int explain_set_method(const char *method, struct explain_target *t, struct err *e) sg_must_check;

/*
 * By the rules of the policy; what the operations of permissions say of a request is added by
 * explain_request() (broker/explain_request.h). `host` may be NULL; the catalogue is that of `who`,
 * or the one compiled in.
 */
void explain_decide(const struct ruleset *rs, const struct host_prefixes *host,
		    const struct remedy_for *who, const struct explain_target *t,
		    struct explanation *out);

/* One line of JSON with the keys of sandgate-net(1); the caller frees. NULL without memory. */
char *explain_print_json(const struct explanation *x);

/* A few lines for a person, ending in a newline; the caller frees. NULL without memory. */
char *explain_print_text(const struct explanation *x);

#endif
