/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * dockerd asks for the device of a container before the container's network namespace exists
 * (20.10), or after (later ones); what the answer names it moves there itself, with the addresses
 * that its IPAM gave. So the gate is made with the end of its link in this namespace, under a name
 * made from the endpoint's. There it has no address and is down; its other end is the airlock. A
 * container that starts has no other link, or none at all.
 *
 * Before anything is made it is checked whether dockerd asks names past the gate (daemon.h), and a
 * first job asks dockerd whether the container is on another network as well, which would be
 * another way out. One that is joined later is the supervisor's to see, and so is one of a
 * container that dockerd starts with itself, since then it answers nobody.
 *
 * A second job makes the gate, another one ends it. The endpoint is busy meanwhile, so its record
 * stays.
 */
#include "docker/join.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "docker/container.h"
#include "docker/daemon.h"
#include "docker/gate.h"
#include "docker/job.h"
#include "docker/ports.h"
#include "docker/routes.h"
#include "policy/permission.h"
#include "sandbox/attach.h"
#include "sandbox/files/shared_trust.h"

struct work {
	struct docker_driver *driver;
	struct docker_endpoint *endpoint; /* busy */
	struct docker_call *call;
	bool forget;			      /* DeleteEndpoint */
	const struct docker_network *network; /* as it is when the child is forked */
	char key[PATH_MAX];
	struct docker_port *ports;
	size_t n_ports;
	struct attach_publish *publish;
	size_t n_publish;
};

/* What dockerd said of the container. */
struct asked_container {
	bool silent;
	struct docker_container is;
};
_Static_assert(sizeof(struct asked_container) <= DOCKER_RESULT_MAX,
	       "a job's result has room for it");

static void free_work(struct work *w)
{
	w->endpoint->busy = false;
	free(w->ports);
	free(w->publish);
	free(w);
}

static struct work *new_work(struct docker_driver *d, struct docker_endpoint *p,
			     struct docker_call *c, struct err *e)
{
	struct work *w = malloc(sizeof(*w));

	if (!w) {
		err_set(e, "out of memory");
		return NULL;
	}
	*w = (struct work){.driver = d,
			   .endpoint = p,
			   .call = c,
			   .network = docker_networks_find(&d->networks, p->network)};
	p->busy = true;
	return w;
}

static void refuse(struct docker_call *c, const char *what, const struct err *e)
{
	docker_driver_say("%s: %s", what, e->text);
	docker_call_answer(c, docker_refusal(e));
}

/* --- in the child --- */

static struct airlock_addresses addresses_of(const struct docker_network *n,
					     const struct docker_endpoint *p)
{
	struct airlock_addresses a = airlock_usual_addresses();

	if (n->gateway_v4.given) {
		a.gate_v4 = n->gateway_v4.addr;
		a.sandbox_v4 = p->v4.addr;
		a.v4_bits = n->gateway_v4.bits;
	}
	if (n->gateway_v6.given) {
		a.gate_v6 = n->gateway_v6.addr;
		a.sandbox_v6 = p->v6.addr;
		a.v6_bits = n->gateway_v6.bits;
	}
	return a;
}

static int attach(const struct work *w, const struct policy *policy, const struct sources *s,
		  struct err *e)
{
	const struct docker_endpoint *p = w->endpoint;
	struct airlock_addresses addresses = addresses_of(w->network, p);
	_cleanup_fd_ int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	char device[IFNAMSIZ], pcap[PATH_MAX], name[SANDBOX_NAME_SIZE];
	struct attach_request r = {
		.name = p->sandbox,
		.engine = "docker",
		.netns = here,
		.awaited = p->key,
		.alive = -1,
		.policy = policy,
		.sources = s,
		.others = AIRLOCK_OTHERS_REMOVED,
		.device = device,
		.addresses = &addresses,
		.mac = p->mac,
		.publish = w->publish,
		.n_publish = w->n_publish,
		.shared_trust = w->network->id,
	};

	if (here < 0)
		return err_set(e, "/proc/self/ns/net: %s", err_why(errno));
	docker_gate_device(p, device);
	if (w->network->pcap) {
		snprintf(pcap, sizeof(pcap), "%s/%s.pcapng", w->network->pcap, p->sandbox);
		r.pcap = (struct capture_request){.file = pcap, .again = true};
	}
	return attach_start(&r, name, e);
}

static int attach_with_sources(const struct work *w, const struct sources *s, struct err *e)
{
	struct policy_sources from = sources_for(s, NULL, NULL);
	struct policy policy;
	int rc = policy_parse(span_of_string(w->network->policy), POLICY_JSON,
			      "the network's policy", &policy, e);

	if (rc == 0)
		rc = policy_upgrade(&policy, s->catalogue, e);
	if (rc == 0)
		rc = policy_resolve(&policy, &from, e);
	if (rc == 0)
		rc = attach(w, &policy, s, e);
	policy_free(&policy);
	return rc;
}

static int do_join(void *ctx, void *result, struct err *e)
{
	struct sources s;
	int rc;

	if (sources_read(&s, e))
		return -1;
	rc = attach_with_sources(ctx, &s, e);
	sources_free(&s);
	return rc;
}

static int do_ask(void *ctx, void *result, struct err *e)
{
	const struct work *w = ctx;
	struct asked_container *c = result;
	int rc = docker_container_find(w->driver->config->docker_socket, w->endpoint->network,
				       w->endpoint->id, &c->is, e);

	c->silent = rc == 1;
	return rc == -1 ? -1 : 0;
}

static int do_leave(void *ctx, void *result, struct err *e)
{
	const struct work *w = ctx;
	struct err trouble;

	if (docker_gate_end(w->endpoint, e))
		return -1;
	/* Nobody has the key of what would be left: that is no reason to keep the container. */
	if (w->network && shared_trust_refresh(w->network->id, &trouble))
		docker_driver_say("%s", trouble.text);
	return 0;
}

/* --- join --- */

static json_t *joined(const struct docker_endpoint *p, const struct docker_network *n)
{
	char device[IFNAMSIZ], v4[ADDR_TEXT_MAX], v6[ADDR_TEXT_MAX];
	json_t *routes = json_array();
	bool made = (!n->gateway_v4.given || docker_routes_add(routes, &n->gateway_v4)) &&
		    (!n->gateway_v6.given || docker_routes_add(routes, &n->gateway_v6));

	docker_gate_device(p, device);
	if (!made) {
		json_decref(routes);
		return NULL;
	}
	return json_pack("{s:{s:s, s:s}, s:s, s:s, s:o, s:b}", "InterfaceName", "SrcName", device,
			 "DstPrefix", "eth", "Gateway",
			 n->gateway_v4.given ? addr_format(&n->gateway_v4.addr, v4) : "",
			 "GatewayIPv6",
			 n->gateway_v6.given ? addr_format(&n->gateway_v6.addr, v6) : "",
			 "StaticRoutes", routes, "DisableGatewayService", 1);
}

static void on_joined(void *ctx, int rc, const void *result, const struct err *said)
{
	struct work *w = ctx;
	struct docker_endpoint *p = w->endpoint;
	struct docker_network *n = docker_networks_find(&w->driver->networks, p->network);
	struct err e = *said;

	if (rc == 0 && !n)
		rc = err_set(&e, "the network has been removed meanwhile");
	if (rc == 0)
		rc = docker_endpoints_set(&w->driver->endpoints, p, ENDPOINT_JOINED, &e);
	if (rc == 0) {
		docker_driver_say("%s: its gate is ready", p->sandbox);
		docker_call_answer(w->call, joined(p, n));
	} else {
		struct err ignored;

		refuse(w->call, p->sandbox, &e);
		/* Where that fails the endpoint stays as it is, for Leave or the next start. */
		if (docker_gate_end(p, &ignored) == 0 &&
		    docker_endpoints_set(&w->driver->endpoints, p, ENDPOINT_MADE, &ignored))
			docker_driver_say("%s", ignored.text);
	}
	free_work(w);
}

static json_t *ports_json(const struct work *w)
{
	json_t *list = json_array();

	for (size_t i = 0; i < w->n_publish; i++) {
		const struct attach_publish *p = &w->publish[i];
		char host[ADDR_TEXT_MAX];

		json_array_append_new(list, json_pack("{s:i, s:i, s:s, s:i, s:i}", "Proto",
						      IPPROTO_TCP, "Port", p->sandbox, "HostIP",
						      addr_format(&p->host.addr, host), "HostPort",
						      p->host.port, "HostPortEnd", p->host.port));
	}
	return list;
}

/* What is asked again after an answer that did not arrive. */
static bool is_joined_already(const struct docker_endpoint *p, const struct docker_message *m)
{
	char device[IFNAMSIZ];

	docker_gate_device(p, device);
	return p->state == ENDPOINT_JOINED && strcmp(p->key, m->key) == 0 &&
	       docker_gate_is_alive(p) && if_nametoindex(device) != 0;
}

static int check_container(const struct asked_container *c, struct err *e)
{
	if (c->silent)
		docker_driver_say(
			"dockerd does not answer yet: a container joins without its name, "
			"and another network of its own is taken away when it has started");
	if (!*c->is.other)
		return 0;
	return err_set(e,
		       "the container %s is on the network %s as well, which is a way out past the "
		       "gate; docker network disconnect %s %s",
		       c->is.name, c->is.other, c->is.other, c->is.name);
}

static int begin_join(struct work *w, const struct asked_container *c, struct err *e)
{
	struct docker_endpoint *p = w->endpoint;

	w->network = docker_networks_find(&w->driver->networks, p->network);
	if (!w->network)
		return err_set(e, "the network has been removed meanwhile");
	if (check_container(c, e) ||
	    docker_ports_choose(w->ports, w->n_ports, &w->publish, &w->n_publish, e))
		return -1;
	docker_gate_choose_name(&w->driver->endpoints, p, c->is.name);
	strcpy(p->key, w->key);
	json_decref(p->ports);
	p->ports = ports_json(w);
	if (docker_endpoints_set(&w->driver->endpoints, p, ENDPOINT_JOINING, e))
		return -1;
	return docker_job_start(w->driver->loop, do_join, on_joined, w, e);
}

static void give_up(struct work *w, const struct err *why)
{
	struct err e;

	refuse(w->call, "a container joins", why);
	if (w->endpoint->state == ENDPOINT_JOINING &&
	    docker_endpoints_set(&w->driver->endpoints, w->endpoint, ENDPOINT_MADE, &e))
		docker_driver_say("%s", e.text);
	free_work(w);
}

static void on_asked(void *ctx, int rc, const void *result, const struct err *said)
{
	struct work *w = ctx;
	struct asked_container c = *(const struct asked_container *)result;
	struct err e = *said;

	c.is.name[DOCKER_NAME_SIZE - 1] = c.is.other[DOCKER_NAME_SIZE - 1] = '\0';
	if (rc)
		err_prefix(&e, "which networks the container is on cannot be told");
	if (rc || begin_join(w, &c, &e))
		give_up(w, &e);
}

static int begin_asking(struct work *w, struct docker_message *m, struct err *e)
{
	if (w->endpoint->state != ENDPOINT_MADE)
		return err_set(e, "the endpoint has a sandbox, %s, already", w->endpoint->sandbox);
	if (docker_daemon_check(docker_call_peer(w->call), e))
		return -1;
	strcpy(w->key, m->key);
	w->ports = m->ports;
	w->n_ports = m->n_ports;
	m->ports = NULL;
	m->n_ports = 0;
	return docker_job_start(w->driver->loop, do_ask, on_asked, w, e);
}

void docker_join(struct docker_driver *d, struct docker_endpoint *p, struct docker_message *m,
		 struct docker_call *c)
{
	struct err e = {""};
	struct work *w;

	if (is_joined_already(p, m)) {
		docker_call_answer(c, joined(p, docker_networks_find(&d->networks, p->network)));
		return;
	}
	w = new_work(d, p, c, &e);
	if (!w)
		refuse(c, "a container joins", &e);
	else if (begin_asking(w, m, &e))
		give_up(w, &e);
}

/* --- leave --- */

static int after_leave(struct docker_driver *d, struct docker_endpoint *p, bool forget,
		       struct err *e)
{
	return forget ? docker_endpoints_remove(&d->endpoints, p, e)
		      : docker_endpoints_set(&d->endpoints, p, ENDPOINT_MADE, e);
}

static void on_left(void *ctx, int rc, const void *result, const struct err *said)
{
	struct work *w = ctx, done = *w;
	char name[SANDBOX_NAME_SIZE];
	struct err e = *said;

	strcpy(name, w->endpoint->sandbox);
	free_work(w);
	if (rc == 0)
		rc = after_leave(done.driver, done.endpoint, done.forget, &e);
	if (rc)
		refuse(done.call, name, &e);
	else
		docker_call_answer(done.call, json_object());
}

static int begin_leave(struct docker_driver *d, struct docker_endpoint *p, bool forget,
		       struct docker_call *c, struct err *e)
{
	struct work *w;

	if (docker_endpoints_set(&d->endpoints, p, ENDPOINT_LEAVING, e))
		return -1;
	w = new_work(d, p, c, e);
	if (!w)
		return -1;
	w->forget = forget;
	if (docker_job_start(d->loop, do_leave, on_left, w, e) == 0)
		return 0;
	free_work(w);
	return -1;
}

void docker_leave(struct docker_driver *d, struct docker_endpoint *p, bool forget,
		  struct docker_call *c)
{
	struct err e = {""};
	int rc;

	if (p->state != ENDPOINT_MADE) {
		rc = begin_leave(d, p, forget, c, &e);
	} else {
		rc = after_leave(d, p, forget, &e);
		if (rc == 0)
			docker_call_answer(c, json_object());
	}
	if (rc)
		refuse(c, "a container leaves", &e);
}
