/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * broker_main() has the parts made, with the isolation around it: stage 1 first, then everything
 * that reads a file, fetches an algorithm or makes a key, then stage 2, then `ready` to the
 * supervisor, and only then the first connection is taken. A failure before that ends the process
 * with a message.
 *
 * Memory: CONNECTIONS_MAX connections; each link of one keeps 64 KiB each way at most, each
 * exchange two bodies of 64 KiB and one head; HTTP/2 has its own bounds (http2.h).
 */
#include "broker/broker.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>

#include "broker/authorities.h"
#include "broker/broker_confine.h"
#include "broker/broker_control.h"
#include "broker/connection.h"
#include "broker/context.h"
#include "broker/credential_control.h"
#include "broker/gate_door.h"
#include "broker/http2.h"
#include "broker/parent.h"
#include "broker/refresher.h"
#include "broker/vault.h"

/*
 * Pieces of 64 KiB come and go with every request here, and windows of 1 MiB with large bodies: each
 * mapped for itself, as in what this was forked from, or given back at once, they would cost as much
 * again as the request.
 */
enum { MAPPED_FROM = HTTP2_POOL, TRIMMED_FROM = HTTP2_MEMORY_MAX };

enum { TIMERS_MAX = CONNECTIONS_MAX + RENEWAL_TIMERS + REFRESHER_TIMERS + PARENT_TUNNELS_MAX };

static void set_rules(struct broker *b, const struct broker_setup *s)
{
	b->ruleset = s->rules;
	*b->host = *s->host;
	b->patience = s->patience;
	b->placeholder_seed = s->placeholder_seed;
	b->log = (struct request_log){
		.ring = s->ring,
		.wake = s->wake >= 0 ? BROKER_WAKE : -1,
		.refusals = s->refusals,
		.generation = ruleset_generation(s->rules),
	};
	b->rules.log = &b->log;
	b->rules.judge = (struct request_judge){
		.rules = s->rules,
		.catalogue = s->catalogue,
		.host = b->host,
		.remedy_for = {.sandbox = s->sandbox,
			       .catalogue = s->catalogue,
			       .on = ruleset_policy(s->rules)->resolved.on},
	};
}

static int make_tls(struct broker *b, const struct broker_setup *s, struct err *e)
{
	b->store = tls_store_new(s->bundle, e);
	if (!b->store)
		return -1;
	b->authorities = authorities_new(s->sandbox, s->authority_days);
	if (!b->authorities)
		return err_set(e, "cannot make the sandbox's authority: out of memory");
	return broker_control_cover_names(b, s->rules, e) < 0 ? -1 : 0;
}

static int make_parts(struct broker *b, const struct broker_setup *s, struct err *e)
{
	b->host = calloc(1, sizeof(*b->host));
	b->loop = loop_new(TIMERS_MAX);
	b->connections = b->loop ? connections_new(b) : NULL;
	b->refresher = b->loop ? refresher_new(b) : NULL;
	if (!b->host || !b->connections || !b->refresher)
		return err_set(e, "the broker has no memory, or no descriptor for its loop");
	set_rules(b, s);
	if (make_tls(b, s, e) != 0 ||
	    credential_control_follow(b, policy_credentials(ruleset_policy(s->rules)), e) != 0)
		return -1;
	b->control = broker_control_new(b, BROKER_CONTROL);
	b->door = gate_door_new(b);
	if (s->parent.is_there && !(b->parent = parent_new(b, &s->parent, e)))
		return -1;
	return b->control && b->door ? 0 : err_set(e, "the broker cannot watch its sockets");
}

static int begin(struct broker *b, const struct broker_setup *s, struct err *e)
{
	if (make_parts(b, s, e) != 0)
		return -1;
	return broker_confine_fully(e);
}

/* Connections first: what they refer to goes after them. Keys are zeroed. */
static void end(struct broker *b)
{
	connections_free(b->connections);
	refresher_free(b->refresher);
	parent_free(b->parent);
	gate_door_free(b->door);
	requests_free(b->control);
	vault_free(b->rules.vault);
	authorities_free(b->authorities);
	tls_store_free(b->store);
	ruleset_free(b->ruleset);
	free(b->host);
	loop_free(b->loop);
}

int broker_main(const struct broker_setup *s)
{
	static struct broker broker;
	struct err e = {""};
	int r;

	if (broker_confine_early(s->control, s->wake, s->supervisor, &e) != 0) {
		requests_say_failed(s->control, &e);
		return EXIT_FAILURE;
	}
	signal(SIGPIPE, SIG_IGN);
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	mallopt(M_TRIM_THRESHOLD, TRIMMED_FROM);
	if (begin(&broker, s, &e) != 0) {
		requests_say_failed(BROKER_CONTROL, &e);
		return EXIT_FAILURE;
	}
	if (!broker_control_say_authority(&broker, "ready"))
		return EXIT_FAILURE;
	if (broker.parent)
		parent_ask_password(broker.parent);
	broker_control_renew_daily(&broker);
	r = loop_run(broker.loop);
	end(&broker);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
