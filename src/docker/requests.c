/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dockerd asks, as libnetwork's remote driver has it. Whatever the body says, an answer is a
 * JSON object; with "Err" it is refused, and dockerd refuses the container.
 */
#include <string.h>

#include "docker/driver.h"
#include "docker/join.h"
#include "docker/recover.h"
#include "sandbox/files/shared_trust.h"

struct asked {
	struct docker_driver *driver;
	struct docker_call *call;
	struct docker_message m;
};

/* The answer; NULL when the call is answered elsewhere, now or later, or, with the message in e, is
 * refused. */
typedef json_t *request_fn(struct asked *a, struct err *e);

json_t *docker_refusal(const struct err *e)
{
	return json_pack("{s:o}", "Err", json_sprintf("sandgate: %s", e->text));
}

static json_t *nothing(struct asked *a, struct err *e)
{
	return json_object();
}

/* The first that a dockerd says, before it says anything of an endpoint. */
static json_t *activate(struct asked *a, struct err *e)
{
	pid_t daemon = docker_call_peer(a->call);

	if (daemon > 0)
		docker_recover(a->driver, daemon);
	return json_pack("{s:[s]}", "Implements", "NetworkDriver");
}

static json_t *capabilities(struct asked *a, struct err *e)
{
	return json_pack("{s:s, s:s}", "Scope", "local", "ConnectivityScope", "local");
}

/* Never asked of a driver of local scope. */
static json_t *allocate(struct asked *a, struct err *e)
{
	return json_pack("{s:{}}", "Options");
}

/* --- networks --- */

static json_t *create_network(struct asked *a, struct err *e)
{
	struct docker_network n = {.gateway_v4 = a->m.gateway_v4, .gateway_v6 = a->m.gateway_v6};
	struct docker_network_options o;

	if (docker_network_options_read(&a->m, &o, e))
		return NULL;
	if (!n.gateway_v4.given && !n.gateway_v6.given)
		return err_set(e, "the network has no gateway address, which is the gate's; leave "
				  "--ipam-driver out, or give a --subnet"),
		       NULL;
	if (a->driver->config->make_policy(&o, &n.policy, e))
		return NULL;
	strcpy(n.id, a->m.network);
	n.pcap = o.pcap ? strdup(o.pcap) : NULL;
	if (o.pcap && !n.pcap)
		err_set(e, "out of memory");
	if ((o.pcap && !n.pcap) || shared_trust_refresh(n.id, e)) {
		free(n.policy);
		free(n.pcap);
		return NULL;
	}
	return docker_networks_put(&a->driver->networks, &n, e) ? NULL : json_object();
}

/* dockerd lets no network go that has containers; what is left of them it has forgotten. */
static int remove_endpoints(struct docker_endpoints *l, const char *network, struct err *e)
{
	struct docker_endpoint *next;

	for (struct docker_endpoint *p = l->first; p; p = next) {
		next = p->next;
		if (strcmp(p->network, network) != 0)
			continue;
		if (p->busy || p->state != ENDPOINT_MADE)
			return err_set(e, "the sandbox %s is still on it; sandgate stop %s",
				       p->sandbox, p->sandbox);
		if (docker_endpoints_remove(l, p, e))
			return -1;
	}
	return 0;
}

static json_t *delete_network(struct asked *a, struct err *e)
{
	if (remove_endpoints(&a->driver->endpoints, a->m.network, e) ||
	    docker_networks_remove(&a->driver->networks, a->m.network, e) ||
	    shared_trust_remove(a->m.network, e))
		return NULL;
	return json_object();
}

/* --- endpoints --- */

static struct docker_network *find_network(struct asked *a, struct err *e)
{
	struct docker_network *n = docker_networks_find(&a->driver->networks, a->m.network);

	if (!n)
		err_set(e,
			"the driver does not know this network; make it again: docker network rm, "
			"docker network create");
	return n;
}

/* NULL with the message when it is there and a process is at work on it. */
static bool is_free(const struct docker_endpoint *p, struct err *e)
{
	if (p && p->busy)
		err_set(e, "the last request for this endpoint is not done yet; try again");
	return !p || !p->busy;
}

/* As docker's own driver makes it; what is random stays on this host (RFC 7042, 2.1). */
static void choose_mac(struct docker_endpoint *p)
{
	const uint8_t *from = p->v4.given ? addr_v4_octets(&p->v4.addr) : p->v6.addr.b + 12;

	p->mac[0] = 0x02;
	p->mac[1] = 0x42;
	memcpy(p->mac + 2, from, 4);
}

static json_t *create_endpoint(struct asked *a, struct err *e)
{
	const struct docker_network *n = find_network(a, e);
	struct docker_endpoints *l = &a->driver->endpoints;
	struct docker_endpoint *p = docker_endpoints_find(l, a->m.endpoint);
	char mac[DOCKER_MAC_TEXT_SIZE];

	if (!n || !is_free(p, e))
		return NULL;
	if (p && p->state != ENDPOINT_MADE)
		return err_set(e, "there is such an endpoint, with the sandbox %s", p->sandbox),
		       NULL;
	if (n->gateway_v4.given != a->m.v4.given || n->gateway_v6.given != a->m.v6.given)
		return err_set(e, "the endpoint has not the addresses that its network has"), NULL;
	p = p ? p : docker_endpoints_add(l, a->m.endpoint, e);
	if (!p)
		return NULL;
	strcpy(p->network, n->id);
	p->v4 = a->m.v4;
	p->v6 = a->m.v6;
	if (a->m.has_mac)
		memcpy(p->mac, a->m.mac, sizeof(p->mac));
	else
		choose_mac(p);
	if (docker_endpoints_keep(l, p, e))
		return NULL;
	/* What the request says itself must not be said again. */
	return a->m.has_mac ? json_pack("{s:{}}", "Interface")
			    : json_pack("{s:{s:s}}", "Interface", "MacAddress",
					docker_mac_format(p->mac, mac));
}

static json_t *endpoint_info(struct asked *a, struct err *e)
{
	const struct docker_endpoint *p =
		docker_endpoints_find(&a->driver->endpoints, a->m.endpoint);

	if (!p || !*p->sandbox)
		return json_pack("{s:{}}", "Value");
	return json_pack("{s:{s:s, s:O*}}", "Value", "sandgate.sandbox", p->sandbox,
			 "com.docker.network.portmap", p->ports);
}

static json_t *join(struct asked *a, struct err *e)
{
	struct docker_endpoint *p = docker_endpoints_find(&a->driver->endpoints, a->m.endpoint);

	if (!p)
		return err_set(e, "the driver does not know this endpoint"), NULL;
	if (!*a->m.key)
		return err_set(e, "the request has no SandboxKey"), NULL;
	if (!find_network(a, e) || !is_free(p, e))
		return NULL;
	docker_join(a->driver, p, &a->m, a->call);
	return NULL;
}

/* What is not known is gone: dockerd may ask again. */
static json_t *end(struct asked *a, bool forget, struct err *e)
{
	struct docker_endpoint *p = docker_endpoints_find(&a->driver->endpoints, a->m.endpoint);

	if (!p)
		return json_object();
	if (is_free(p, e))
		docker_leave(a->driver, p, forget, a->call);
	return NULL;
}

static json_t *leave(struct asked *a, struct err *e)
{
	return end(a, false, e);
}

static json_t *delete_endpoint(struct asked *a, struct err *e)
{
	return end(a, true, e);
}

/* --- the table --- */

enum needs { NEEDS_NOTHING, NEEDS_NETWORK, NEEDS_ENDPOINT };

static const struct {
	const char *path;
	enum needs needs;
	request_fn *answer;
} requests[] = {
	{"/Plugin.Activate", NEEDS_NOTHING, activate},
	{"/NetworkDriver.GetCapabilities", NEEDS_NOTHING, capabilities},
	{"/NetworkDriver.AllocateNetwork", NEEDS_NOTHING, allocate},
	{"/NetworkDriver.FreeNetwork", NEEDS_NOTHING, nothing},
	{"/NetworkDriver.CreateNetwork", NEEDS_NETWORK, create_network},
	{"/NetworkDriver.DeleteNetwork", NEEDS_NETWORK, delete_network},
	{"/NetworkDriver.CreateEndpoint", NEEDS_ENDPOINT, create_endpoint},
	{"/NetworkDriver.EndpointOperInfo", NEEDS_ENDPOINT, endpoint_info},
	{"/NetworkDriver.DeleteEndpoint", NEEDS_ENDPOINT, delete_endpoint},
	{"/NetworkDriver.Join", NEEDS_ENDPOINT, join},
	{"/NetworkDriver.Leave", NEEDS_ENDPOINT, leave},
	/* Published ports come with Join, and go with Leave. */
	{"/NetworkDriver.ProgramExternalConnectivity", NEEDS_NOTHING, nothing},
	{"/NetworkDriver.RevokeExternalConnectivity", NEEDS_NOTHING, nothing},
	/* Of other hosts: a driver of local scope has none. */
	{"/NetworkDriver.DiscoverNew", NEEDS_NOTHING, nothing},
	{"/NetworkDriver.DiscoverDelete", NEEDS_NOTHING, nothing},
};

static int check_needs(const struct docker_message *m, enum needs needs, struct err *e)
{
	if (needs >= NEEDS_NETWORK && !*m->network)
		return err_set(e, "the request has no NetworkID");
	if (needs >= NEEDS_ENDPOINT && !*m->endpoint)
		return err_set(e, "the request has no EndpointID");
	return 0;
}

static json_t *answer(struct asked *a, enum needs needs, request_fn *fn, struct err *e)
{
	struct span body = needs == NEEDS_NOTHING ? span_of("", 0) : docker_call_body(a->call);
	json_t *answer;

	if (docker_message_parse(body, &a->m, e))
		return NULL;
	answer = check_needs(&a->m, needs, e) ? NULL : fn(a, e);
	docker_message_free(&a->m);
	return answer;
}

void docker_requests_answer(void *driver, struct docker_call *c)
{
	struct asked a = {.driver = driver, .call = c};
	const char *path = docker_call_path(c);
	struct err e = {""};
	json_t *said = NULL;
	size_t i = 0;

	while (i < sg_array_len(requests) && strcmp(requests[i].path, path) != 0)
		i++;
	if (i == sg_array_len(requests)) {
		docker_call_answer_unknown(c);
		return;
	}
	said = answer(&a, requests[i].needs, requests[i].answer, &e);
	if (!said && !*e.text)
		return;
	if (!said)
		docker_driver_say("%s: %s", path + 1, e.text);
	docker_call_answer(c, said ? said : docker_refusal(&e));
}
