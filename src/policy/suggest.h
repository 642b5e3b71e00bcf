/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest: what was refused, put as a person would say it, and what would allow each.
 *
 * Refusals that one permission would have let through are one suggestion, "install Python packages
 * (PyPI), 3 times"; all others are one a host. What has been allowed since is told apart. What no
 * item would allow (a limit, a denial of the person's own) is counted and has no item.
 */
#ifndef SG_POLICY_SUGGEST_H
#define SG_POLICY_SUGGEST_H

#include "policy/seen.h"

enum { SUGGEST_PLACES_MAX = 16, SUGGEST_ITEMS_MAX = 16, SUGGESTIONS_MAX = 256 };

/* What was tried at a host: a lookup, an echo, or a port. */
struct suggestion_port {
	bool lookup;
	enum proto proto;
	uint16_t port;
};

struct suggestion {
	const struct permission *permission; /* of the catalogue; NULL: of one host */
	char *hosts[SUGGEST_PLACES_MAX];     /* one without a permission; owned */
	struct suggestion_port ports[SUGGEST_PLACES_MAX];
	size_t n_hosts, n_ports; /* the first ones of each */
	uint64_t count;
	uint64_t reasons; /* a bit for each enum reason */
	/*
	 * Words for `sandgate net allow NAME`, and for `--allow` as well; several when a host was
	 * tried on several ports. Owned.
	 */
	char *items[SUGGEST_ITEMS_MAX];
	size_t n_items;
	uint16_t host_ports[SUGGEST_ITEMS_MAX]; /* for `--host-port` */
	size_t n_host_ports;
	bool net_deny; /* the base must become `deny` first: without a link nothing can be added */
	bool allowed_now; /* by the policy in force: nothing is left to do */
};

struct suggestions {
	const struct catalogue *catalogue; /* borrowed; NULL: permissions are not offered */
	char *const *on;		   /* borrowed: permissions that are on; may be NULL */
	const struct ruleset *rules; /* borrowed: in force; NULL: what it admits is not known */
	struct suggestion *v;	     /* in the order in which they were first seen */
	size_t n, cap;
	uint64_t total; /* of all that was added */
};

/*
 * 0; -ENOSPC when it would be one more than SUGGESTIONS_MAX, which nobody reads, and -ENOMEM: then
 * it is not counted, and what was there stays.
 */
int suggest_add(struct suggestions *s, const struct seen *what) sg_must_check;
void suggest_free(struct suggestions *s);

/* Is there a command that allows it? */
static inline bool suggestion_has_remedy(const struct suggestion *s)
{
	return s->n_items || s->n_host_ports;
}

#endif
