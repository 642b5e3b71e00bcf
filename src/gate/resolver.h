/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver: asks the host's resolver (c-ares) and hands back the parsed answer.
 *
 * Equal questions in flight are asked once. Every lookup ends within RESOLVER_DEADLINE_MS,
 * with an answer or a failure; how many are in flight is bounded.
 */
#ifndef SG_GATE_RESOLVER_H
#define SG_GATE_RESOLVER_H

#include "base/addr.h"
#include "base/err.h"
#include "base/name.h"
#include "gate/dns.h"
#include "gate/gate.h"
#include "io/loop.h"

enum {
	RESOLVER_DEADLINE_MS = 4500, /* a dead upstream is known within 5 s */
	RESOLVER_IN_FLIGHT_MAX = 256,
};

/* What c-ares and this module call after the start, for the allow-list; ends with -1. */
extern const int resolver_syscalls[];

struct resolver;

/*
 * One wait for an answer, embedded in the caller's object, which must stay in place until `done`
 * was called; it is called exactly once.
 */
struct lookup {
	/* `answer` is NULL when the resolver failed; it lives only during the call. */
	void (*done)(struct lookup *l, const struct dns_message *answer);
	struct lookup *next; /* waiting for the same question; the resolver's */
};

/*
 * Everything that has to be read is read here, before the gate isolates itself; after it only
 * sockets are made. `c` is copied. NULL with a message.
 */
struct resolver *resolver_new(struct loop *loop, const struct resolver_config *c, struct err *e);

/* Nobody who still waits is told. */
void resolver_free(struct resolver *r);

/*
 * Other servers or hosts from now on; lookups in flight are asked again there. 0, or -errno: then
 * the old hosts stay, and without memory for the servers every lookup fails.
 */
int resolver_configure(struct resolver *r, const struct resolver_config *c) sg_must_check;

/* Addresses of the host's hosts file. `listed` says the name is there, in whatever family. */
size_t resolver_find_host(const struct resolver *r, const struct name *name, bool v4,
			  struct addr out[], size_t max, bool *listed);

/*
 * Asks. `done` may be called before this returns. False, and no call, when too many are in
 * flight. `type` is one of those that dns_response_parse() knows.
 */
bool resolver_lookup(struct resolver *r, struct lookup *l, const struct name *name, uint16_t type);

/* Does the host have a route to this IPv6 address? Sends nothing. */
bool resolver_has_route(const struct resolver *r, const struct addr *a);

/* The host has IPv6 at all. */
bool resolver_has_ipv6(const struct resolver *r);

#endif
