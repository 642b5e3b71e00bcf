/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy: what a sandbox may do, as a person wrote it (policy.md).
 *
 * A `struct policy` is the source form: it can be printed and parsed back to the
 * same thing. It is compiled into an immutable `struct ruleset` (decide.h), which
 * decide() reads. Nothing in this folder does I/O: files arrive as spans.
 */
#ifndef SG_POLICY_POLICY_H
#define SG_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/name.h"
#include "base/span.h"
#include "policy/credential.h"

enum { POLICY_FORMAT_VERSION = 1 };

enum network_base {
	NET_ANY,
	NET_DENY,
	NET_NONE,
	NET_BROKERED,
	NET_FAKENET,
	NET_LOCKED,
	NET_STANDARD,
	NET_OPEN,
	NET_BAKE,
	NET_BASES, /* count */
};

enum proto {
	PROTO_TCP = 1,
	PROTO_UDP = 2,
	PROTO_ICMP = 4, /* echo only */
	PROTO_ANY = 7,
};

enum effect { EFFECT_DENY, EFFECT_ALLOW };

enum target_kind {
	TARGET_NAME,	 /* that name and no other */
	TARGET_WILDCARD, /* every name below `name`, not itself */
	TARGET_PREFIX,	 /* an address (128 bits) or a network */
};

struct port_range {
	uint16_t lo, hi; /* inclusive, 1..65535 */
};

enum { RULE_PORTS_MAX = 16 };

/* What most rules do not have; kept apart so that a million plain names stay small. */
struct rule_detail {
	uint8_t n_ports;
	struct port_range ports[RULE_PORTS_MAX];
	char **methods;	  /* NULL-terminated, upper case; NULL: every method */
	char **paths;	  /* NULL-terminated patterns; NULL: every path */
	char *note;	  /* may be NULL */
	char *permission; /* the id of the permission it stands for; NULL: somebody's own rule */
};

enum { RULE_NAME_INLINE = 32 };

/* 48 octets: a compiled rule is found, and its name compared, in one piece of memory. */
struct rule {
	uint8_t kind : 2;	    /* enum target_kind */
	uint8_t effect : 1;	    /* enum effect */
	uint8_t protos : 3;	    /* bits of enum proto; 0 when none was written */
	bool ports_written : 1;	    /* false: the default of the kind of target applies */
	bool any_port : 1;	    /* ":*": every port and protocol */
	bool raw : 1;		    /* "/raw": port 80 or 443 without the look inside */
	bool private_ok : 1;	    /* `private: true`: the name may resolve to a private address */
	bool near_resolver : 1;	    /* compiled: a wildcard that holds names of encrypted DNS */
	bool used : 1;		    /* compiled: the slot holds a rule */
	uint8_t name_n;		    /* octets of the name; 0 of a TARGET_PREFIX */
	uint32_t hash;		    /* compiled: of the target */
	struct rule_detail *detail; /* NULL: no ports, methods, paths or note */
	union {
		struct prefix prefix;		   /* TARGET_PREFIX */
		char short_name[RULE_NAME_INLINE]; /* when name_n < RULE_NAME_INLINE */
		char *long_name;		   /* else; owned */
	};
};
_Static_assert(sizeof(struct rule) == 48, "a rule is small");

/* The canonical name, NUL-terminated; of a TARGET_WILDCARD without "*.". Not of a prefix. */
static inline const char *rule_name(const struct rule *r)
{
	return r->name_n < RULE_NAME_INLINE ? r->short_name : r->long_name;
}

enum dns_answers { DNS_ANSWERS_REAL, DNS_ANSWERS_SYNTHETIC };
enum dns_refusal { DNS_REFUSAL_REFUSED, DNS_REFUSAL_NXDOMAIN };

struct publish {
	uint16_t host, sandbox; /* TCP ports; host side listens on 127.0.0.1 */
};

struct limits {
	uint32_t flows;			    /* open at once, 4096 */
	uint32_t flows_per_second;	    /* 500 */
	uint32_t flows_burst;		    /* 2000 */
	uint32_t wildcard_names_per_minute; /* 64 */
	uint32_t wildcard_name_length;	    /* octets, 200 */
	uint32_t wildcard_label_length;	    /* of the part below the wildcard, 63 */
	uint64_t bytes_out;		    /* 0: no limit */
	uint64_t bytes_out_per_host;	    /* 0: no limit */
};

/* A host of `inspect:` or `splice:`: HOST, *.DOMAIN, with a port when it is not 443. */
struct host_pattern {
	char *name;    /* canonical and owned; of a wildcard without "*." */
	uint16_t port; /* 443 unless written */
	bool below;    /* every name below it, and not itself */
};

struct host_list {
	struct host_pattern *v;
	size_t n;
};

struct rule_list {
	struct rule *v;
	size_t n, cap;
};

/*
 * What policy_resolve() adds from outside the person's own words. Empty in a policy as it was
 * written or stored; the form that goes to the gate has it (policy_print_wire).
 */
struct resolved {
	bool done;
	char **on; /* the permissions that are on, by id, sorted; NULL: none */
	struct rule_list
		permissions; /* the hosts of those, step 5; each detail has its permission */
	struct rule_list organisation; /* of the signed policy, step 4 */
	bool web;	      /* the default is "allow" for public addresses on TCP 80 and 443 */
	uint16_t *host_ports; /* that permissions open, beside the person's own */
	size_t n_host_ports;
	struct credential_list credentials; /* the person's own, then those of permissions */
};

struct policy {
	uint8_t format; /* the version of the format that it was read in */
	enum network_base network;
	char **permissions; /* "install:rust", "-error-reports"; NULL-terminated or NULL */
	struct rule *rules; /* allow and deny, in the order written */
	size_t n_rules, cap_rules;
	bool dns_off;
	enum dns_answers dns_answers;
	enum dns_refusal dns_refusal;
	bool quic_allow;
	bool ech_refuse;
	uint16_t *host_ports;
	size_t n_host_ports;
	struct publish *publish;
	size_t n_publish;
	struct credential_list credentials;
	bool inspect_all; /* `inspect: all` */
	struct host_list
		inspect;	 /* TLS to these is opened beside what rules and credentials need */
	struct host_list splice; /* TLS to these stays closed, whatever else asks for it */
	struct limits limits;
	struct resolved resolved;
};

/*
 * The credentials that are in force: with those of permissions once it is resolved, in the order in
 * which they are looked at. Valid as long as the policy stays as it is.
 */
static inline const struct credential_list *policy_credentials(const struct policy *p)
{
	return p->resolved.done ? &p->resolved.credentials : &p->credentials;
}

/* The defaults of docs/policy.md, base `standard`. Nothing allocated yet. */
void policy_init(struct policy *p);
void policy_free(struct policy *p);

enum policy_syntax { POLICY_YAML, POLICY_JSON };

/*
 * Parses a whole file strictly. `file` is the name for messages "file:line:column: ...".
 * On an error p is left as policy_init makes it. 0 or -1 with the message.
 */
int policy_parse(struct span text, enum policy_syntax syntax, const char *file, struct policy *p,
		 struct err *e) sg_must_check;

/* The same; `c`: of which every permission must be one. */
struct catalogue; /* policy/permission.h */
int policy_parse_known(struct span text, enum policy_syntax syntax, const char *file,
		       const struct catalogue *c, struct policy *p, struct err *e) sg_must_check;

/* One short-form rule, "TARGET[:PORTS][/PROTO]" or "site:HOST", appended to p. */
int policy_add_rule(struct policy *p, enum effect effect, const char *text,
		    struct err *e) sg_must_check;

/*
 * One word of --allow, --deny or --only: a permission id, "-id", a preset, "site:HOST" or a rule.
 * A preset becomes the base; `deny` of an id is "-id". Ids are those of `c`; NULL is the
 * catalogue that is compiled in.
 */
int policy_add_item(struct policy *p, const struct catalogue *c, enum effect effect,
		    const char *item, struct err *e) sg_must_check;

/*
 * What follows --allow, --deny or --only: items parted by commas. A piece that is only ports goes
 * with the item before it, so "a.example:22,443,b.example" is two items. fn is called for each
 * until it returns anything but 0. 0 or -1 with the message.
 */
typedef int policy_item_fn(void *ctx, const char *item, struct err *e);
int policy_each_item(const char *list, policy_item_fn *fn, void *ctx, struct err *e) sg_must_check;

/* The same, with policy_add_item(). */
int policy_add_list(struct policy *p, const struct catalogue *c, enum effect effect,
		    const char *list, struct err *e) sg_must_check;

/*
 * A permission id, or "-id", at the end of the list; what was said of that id before is taken out.
 * Is not looked up: policy_resolve() does.
 */
int policy_add_permission(struct policy *p, const char *word, struct err *e) sg_must_check;

/* "--net BASE". */
int policy_set_network(struct policy *p, const char *base, struct err *e) sg_must_check;
const char *network_base_name(enum network_base b);

/* What no single entry shows: an empty allow list, `any` with an allow list, ... */
int policy_validate(const struct policy *p, struct err *e) sg_must_check;

/*
 * Canonical JSON, one line; the caller frees. parse(print(p)) is p, its allow rules first. NULL
 * without memory.
 */
char *policy_print_json(const struct policy *p);

/*
 * The same with what policy_resolve() added, under the key "resolved": what the supervisor sends
 * the gate. Only policy_parse_wire() takes that key; in a file of a person's it is refused as
 * unknown.
 */
char *policy_print_wire(const struct policy *p);
int policy_parse_wire(struct span text, struct policy *p, struct err *e) sg_must_check;

/* The short form of one rule ("*.example.com:443/tcp"). Returns out. */
enum { RULE_TEXT_MAX = 512 };
char *rule_format(const struct rule *r, char out[RULE_TEXT_MAX]);

/* What the rule means, "example.com over TCP on ports 80 and 443, the name checked inside". */
char *rule_describe(const struct rule *r, char out[RULE_TEXT_MAX]);

/* A rule's ports, NULL and 0 when none are written. */
static inline const struct port_range *rule_ports(const struct rule *r, size_t *n)
{
	*n = r->detail ? r->detail->n_ports : 0;
	return r->detail ? r->detail->ports : NULL;
}

#endif
