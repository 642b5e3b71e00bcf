/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspects: which connections have to be opened so that their requests are seen: methods and paths
 * of rules, operations of permissions, credentials, `inspect:`. Pure; the gate, the broker, the
 * supervisor and `net explain` ask the same functions.
 */
#ifndef SG_POLICY_INSPECTS_H
#define SG_POLICY_INSPECTS_H

#include "policy/decide.h"
#include "policy/permission.h"

enum inspects_why {
	INSPECTS_NOT,	      /* carried as it is */
	INSPECTS_RULES,	      /* a rule names methods or paths */
	INSPECTS_OPERATIONS,  /* a permission that admits it is for some operations only */
	INSPECTS_CREDENTIALS, /* a credential is bound to it */
	INSPECTS_LISTED,      /* `inspect:` */
};

/*
 * Do requests to this name and port (TCP) have to be seen, and why? `splice:` stands above all of
 * it. `addr` is that the connection goes to, or NULL. Without a name they do not: there is nothing
 * to show a certificate for. Does not allocate; it is asked for each connection.
 */
enum inspects_why policy_inspects(const struct ruleset *rs, const struct catalogue *c,
				  const struct host_prefixes *host, const struct name *name,
				  const struct addr *addr, uint16_t port);

/* Is some rule, of whatever author, about a part of the requests to the destination? */
bool rules_restrict(const struct ruleset *rs, const struct destination *d);

/* Do the hosts of permissions alone admit it? Then it has to be an operation of one as well. */
bool verdict_is_by_permission(const struct verdict *v);

/*
 * Could any connection under this resolved policy come to be inspected, or does it need the proxy
 * port (`brokered`)? Then a broker is started.
 */
bool policy_needs_broker(const struct policy *p, const struct catalogue *c);

/*
 * The names that the sandbox's authority is to be held to: hosts of permissions that have
 * operations (whether on or not: one may be switched on while it runs), of credentials and their
 * token endpoints, of rules
 * with methods or paths, of `inspect:`; "*.DOMAIN" for those below. Sorted, NULL-terminated, the
 * caller's, to be freed with string_list_free(). NULL with `*any` true: `inspect: all`. NULL with
 * `*any` false: no memory.
 */
char **policy_inspected_names(const struct ruleset *rs, const struct catalogue *c, bool *any);

#endif
