/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide: the one function that judges (docs/policy.md, "Which rule decides").
 *
 * `net explain`, `policy check`, the API and the data plane all call it. It is
 * pure, does not allocate, and takes the same time however many rules there are.
 */
#ifndef SG_POLICY_DECIDE_H
#define SG_POLICY_DECIDE_H

#include "policy/policy.h"

struct ruleset; /* compiled, immutable */

/*
 * The order is that of catalogue/messages.yaml. New ones go to the end: the files of sandboxes that
 * are kept count by these numbers (audit/ring_page.h).
 */
enum reason {
	REASON_NONE, /* allowed */
	REASON_NOT_IN_POLICY,
	REASON_DENIED_BY_RULE,
	REASON_SPECIAL_ADDRESS,
	REASON_SNI_MISMATCH,
	REASON_NO_SERVER_NAME,
	REASON_ECH_REFUSED,
	REASON_NOT_TLS,
	REASON_NOT_HTTP,
	REASON_PORT_NOT_ALLOWED,
	REASON_METHOD_NOT_ALLOWED,
	REASON_PATH_NOT_ALLOWED,
	REASON_OPERATION_NOT_ALLOWED, /* the permissions that are on are for other requests */
	REASON_QUIC_REFUSED,
	REASON_DNS_OFF,
	REASON_DNS_TYPE,      /* a record type that is not answered here */
	REASON_ENCRYPTED_DNS, /* DoT, known DoH names */
	REASON_RESOLVER_FAILED,
	REASON_NETWORK_NONE,
	REASON_LIMIT_FLOWS,
	REASON_LIMIT_RATE,
	REASON_LIMIT_NAMES,
	REASON_LIMIT_NAME_LENGTH,
	REASON_LIMIT_BYTES,
	REASON_LIMIT_BYTES_PER_HOST,
	REASON_LIMIT_UDP,
	REASON_MALFORMED_DNS,
	REASON_MALFORMED_TLS,
	REASON_MALFORMED_HTTP,
	REASON_MALFORMED_PACKET,
	REASON_PROTOCOL_NOT_CARRIED, /* neither TCP, UDP nor an echo request */
	REASON_GATE_DOWN,
	REASON_UPSTREAM_CERTIFICATE, /* of a server that is to be inspected: it is not to be trusted
				      */
	REASON_UPSTREAM_FAILED,
	REASON_UPSTREAM_TIMEOUT,
	REASON_CREDENTIAL_MISSING, /* its source failed */
	REASON_CREDENTIAL_REFUSED, /* the sandbox brought one, or a placeholder, that does not
				      belong there */
	REASON_PROXY_ONLY,	   /* `brokered`: admitted, but only through the proxy port */
	REASON_BROKER_DOWN,   /* its requests have to be seen, and there is nobody to see them */
	REASON_NOT_INSPECTED, /* it began before its requests had to be seen */
	REASON_LOG_FULL,      /* it has to be in the audit log, which cannot be written */
	REASON_MALFORMED_SOCKS,
	REASON_PARENT_PROXY, /* not TCP, and only the parent proxy leads there */
	REASONS,	     /* count */
};

/* The fixed word of the log and of JSON: "not-in-policy". */
const char *reason_word(enum reason r);
/* The sentence for a person, from catalogue/messages. */
const char *reason_sentence(enum reason r);

/*
 * The host's own addresses and connected subnets, which a name must not point to.
 * Owned by the caller of decide(); replaced whole when they change. May be NULL.
 */
enum { HOST_PREFIXES_MAX = 256 };
struct host_prefixes {
	size_t n;
	struct prefix prefix[HOST_PREFIXES_MAX];
};

enum destination_kind {
	DEST_LOOKUP,	  /* a DNS question: name only */
	DEST_CONNECT,	  /* a connection or datagram: address, port, proto, perhaps a name */
	DEST_SERVER_NAME, /* inside a connection: the name that the client hello or Host gave */
};

struct destination {
	enum destination_kind kind;
	const struct name *name; /* NULL: none */
	const struct addr *addr; /* NULL: not known (a lookup, or explain by name alone) */
	uint16_t port;		 /* 0 for ICMP and for a lookup */
	enum proto proto;
	const char *method, *path; /* NULL: not seen */
	bool by_proxy; /* asked for through the proxy port: `brokered` admits nothing else */
};

/* The gate's own ports: HTTP (CONNECT and absolute form) and SOCKS5. */
enum { PROXY_HTTP_PORT = 3128, PROXY_SOCKS_PORT = 1080 };

static inline bool proxy_port_is(uint16_t port)
{
	return port == PROXY_HTTP_PORT || port == PROXY_SOCKS_PORT;
}

/* The names of the gate itself: the listed ports of the host, and the proxy port. */
bool name_is_host_alias(const struct name *name);
bool name_is_gateway(const struct name *name);

/*
 * Who wrote a rule. Specificity is compared within a layer only. Own rules win over permissions;
 * what the organisation denies no other layer allows, and what it allows is a default that own
 * rules may deny.
 */
enum layer { LAYER_OWN, LAYER_ORGANISATION, LAYER_PERMISSIONS, LAYERS /* count */ };

struct verdict {
	bool allow;
	bool check_name; /* 80/443 by name: the server name or Host must be judged as well */
	bool by_literal_address; /* the target was listed literally by address or network */
	bool by_wildcard;	 /* the name was admitted by a wildcard: its limits apply */
	bool by_default;	 /* step 6 of `open` or `web`, or step 1 of `any`, allowed it */
	bool private_ok;	 /* the rule that admits the name says `private: true` */
	uint8_t step;		 /* 1..6 of docs/policy.md */
	enum reason reason;
	enum layer layer;	 /* of the rule; says nothing when there is none */
	const struct rule *rule; /* the rule that decided, inside the ruleset; NULL when none */
	const char *permission;	 /* the id of the one it stands for, inside the ruleset, or NULL */
};

void decide(const struct ruleset *rs, const struct host_prefixes *host, const struct destination *d,
	    struct verdict *v);

/*
 * May this address be handed out in an answer for a name? `name_verdict` is the
 * verdict of the lookup. False: withheld.
 */
bool address_admissible(const struct ruleset *rs, const struct host_prefixes *host,
			const struct verdict *name_verdict, const struct addr *a);

/* Why an address is special: "private (RFC 1918)", or NULL when it is public. */
const char *address_special(const struct host_prefixes *host, const struct addr *a);

/*
 * The runnable remedy for a refusal: "sandgate net allow NAME install:python" when a permission
 * covers the destination, else "sandgate net allow NAME site:HOST[:PORT]"; without a sandbox
 * "sandgate run --allow ITEM ..."; empty when there is none.
 */
enum { REMEDY_MAX = 384 };
struct remedy_for {
	const char *sandbox;		   /* a name, or NULL */
	const struct catalogue *catalogue; /* NULL: no permission is offered */
	char *const *on;		   /* resolved.on of its policy, or NULL */
};
char *remedy_format(const struct remedy_for *who, const struct destination *d, enum reason r,
		    char out[REMEDY_MAX]);

/* The same with a permission that is known to admit it. */
char *remedy_format_permission(const struct remedy_for *who, const char *id, char out[REMEDY_MAX]);

/* Compiles; the ruleset keeps its own copy of everything. NULL with a message on failure. */
struct ruleset *ruleset_compile(const struct policy *p, uint64_t generation, struct err *e);
/* The same from the wire form that the supervisor hands out (docs/protocol.md). */
enum { POLICY_WIRE_MAX = 256 * 1024 * 1024 }; /* octets; a million names are about 60 MiB */
struct ruleset *ruleset_compile_wire(struct span wire, uint64_t generation, struct err *e);
/* Before isolation: what the C library looks up once for the sorting of a long policy. */
void ruleset_prepare(void);
void ruleset_free(struct ruleset *rs);
uint64_t ruleset_generation(const struct ruleset *rs);
/*
 * The settings (limits, dns, quic, host ports, ...) it was compiled with, without the rules. Lives
 * as long as rs.
 */
const struct policy *ruleset_policy(const struct ruleset *rs);

#endif
