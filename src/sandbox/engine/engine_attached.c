/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of what is there already (attach.h): no process is ours. The sandbox lives until it is
 * detached, or until the process ends that the namespace was found by.
 *
 * Theory of operation. Before the airlock is asked for, the namespace is claimed for this sandbox,
 * and what leads out of it is listed, to be said. When the gate is ready the namespace is looked at
 * once more, now through sockets in it that stay: they tell of each device that comes later
 * (`docker network connect`), and what becomes of those ways.h says.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "airlock/link.h"
#include "base/name.h"
#include "policy/inspects.h"
#include "policy/strings.h"
#include "sandbox/attach.h"
#include "sandbox/engine/netns.h"
#include "sandbox/engine/netns_claim.h"
#include "sandbox/engine/netns_number.h"
#include "sandbox/supervisor.h"
#include "sandbox/engine/ways.h"

enum { SHOWN_HOSTS = 6, TAKE_MS = 3000 };

struct own {
	int netns;	  /* the request's */
	struct ways ways; /* that come later */
	char removed[NETNS_WAYS_MAX];
	struct err risk;   /* of root inside, in words; empty: none */
	bool engine_takes; /* the link, as the device of its own that is no longer there */
};

static const struct attach_request *request_of(const struct supervisor *s)
{
	return s->options->attach;
}

/* --- the start --- */

static int take_alive(struct supervisor *s, struct err *e)
{
	const struct attach_request *r = request_of(s);
	struct pollfd ended = {.fd = r->alive, .events = POLLIN};

	if (r->alive < 0)
		return 0;
	if (poll(&ended, 1, 0) != 0)
		return err_set(e, "the process has ended");
	s->engine.pidfd = fcntl(r->alive, F_DUPFD_CLOEXEC, 3);
	return s->engine.pidfd < 0 ? err_set(e, "watching the process: %s", err_why(errno)) : 0;
}

static int configure(struct supervisor *s, struct airlock_config *c, struct err *e)
{
	const struct attach_request *r = request_of(s);
	struct own *own = calloc(1, sizeof(*own));

	if (!own)
		return err_set(e, "out of memory");
	own->netns = r->netns;
	own->ways = WAYS_NONE;
	s->engine.own = own;
	engine_attach_configure(s, c);
	c->others = r->others;
	c->inbound = r->inbound;
	if (netns_check(r->netns, e) || netns_claim_take(&s->dir, r->netns, e) || take_alive(s, e))
		return -1;
	if (r->others == AIRLOCK_OTHERS_REMOVED && netns_list_ways(r->netns, 0, own->removed, e))
		return -1;
	own->engine_takes = r->engine_takes && strstr(own->removed, r->device ? r->device : "eth0");
	return 0;
}

static int start(struct supervisor *s, struct err *e)
{
	const struct attach_request *r = request_of(s);
	uint32_t link = r->inbound ? inbound_eth0_index(r->inbound) : LINK_INDEX_ETH0;
	struct own *own = s->engine.own;

	if (ways_open(&own->ways, own->netns, link, e) ||
	    netns_watch_verify(&own->ways.watch, link, e) ||
	    (!r->without_admin &&
	     netns_number_check(&own->ways.watch.ask, own->netns, r->alive, &own->risk) < 0))
		return *own->risk.text ? err_set(e, "%s", own->risk.text) : -1;
	s->engine.watch = own->ways.watch.events;
	return 0;
}

/* --- what is said --- */

static void say_removed(const struct own *own)
{
	struct err e;

	if (!*own->removed)
		return;
	err_set(&e, "taken away from the namespace: %s; what leaves it now passes the gate",
		own->removed);
	supervisor_say(&e);
}

static bool is_inspected(const struct supervisor *s, const char *text)
{
	struct name name;

	return name_parse_ascii(text, strlen(text), &name) == NAME_OK &&
	       policy_inspects(s->live.rules, s->options->sources->catalogue, &s->host.prefixes,
			       &name, NULL, 443) != INSPECTS_NOT;
}

/* The first of the hosts that are opened, with ", " between, and how many more there are. */
static size_t name_inspected(const struct supervisor *s, char *const *names, char *out, size_t size)
{
	size_t n = 0, used = 0;

	for (*out = 0; names && *names; names++) {
		if (!is_inspected(s, *names))
			continue;
		if (n < SHOWN_HOSTS && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s", n ? ", " : "",
						 *names);
		n++;
	}
	if (n > SHOWN_HOSTS && used < size)
		snprintf(out + used, size - used, " and %zu more", n - SHOWN_HOSTS);
	return n;
}

/* Whether they do is for whoever knows its files (trust_place.h). */
static void say_authority(const struct supervisor *s)
{
	char hosts[512];
	bool any;
	char **names = policy_inspected_names(s->live.rules, s->options->sources->catalogue, &any);
	struct err e;

	if (any)
		snprintf(hosts, sizeof(hosts), "every host");
	if (broker_link_is_there(&s->broker) &&
	    (any || name_inspected(s, names, hosts, sizeof(hosts)))) {
		err_set(&e,
			"requests to %s are inspected: programs inside have to trust the authority "
			"in %s; --splice keeps TLS closed",
			hosts, s->ca.bundle);
		supervisor_say(&e);
	}
	string_list_free(names);
}

static void say_start(const struct supervisor *s)
{
	const struct own *own = s->engine.own;

	say_removed(own);
	if (*own->risk.text)
		supervisor_say(&own->risk);
	say_authority(s);
}

/* --- while it lives --- */

static void look(struct supervisor *s)
{
	struct own *own = s->engine.own;

	ways_look(&own->ways, s);
}

/* Nothing of the sandbox runs any more; what changes in its namespace now is the engine's doing. */
static void leave_link_to_engine(const struct engine *g, const struct own *own)
{
	struct pollfd ended = {.fd = g->pidfd, .events = POLLIN};
	struct pollfd changed = {.fd = own->ways.watch.events, .events = POLLIN};

	if (own->engine_takes && g->pidfd >= 0 && poll(&ended, 1, 0) == 1)
		poll(&changed, 1, TAKE_MS);
}

static void close_own(struct engine *g)
{
	struct own *own = g->own;

	if (!own)
		return;
	leave_link_to_engine(g, own);
	ways_close(&own->ways);
	free(own);
}

const struct engine_class engine_attached = {
	.name = "netns",
	.turn = ENGINE_NEVER,
	.link = AIRLOCK_NETNS,
	.no_exec =
		"it was attached, and sandgate does not enter it; use its own engine, or nsenter",
	.configure = configure,
	.start = start,
	.signal = engine_bare_signal,
	.terminate = engine_bare_terminate,
	.kill = engine_bare_kill,
	.look = look,
	.say_start = say_start,
	.close = close_own,
};
