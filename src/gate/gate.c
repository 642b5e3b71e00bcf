/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * gate_main() builds the parts in the order of their needs, with the isolation around it:
 * stage 1 first, then everything that reads a file or fetches an algorithm, then stage 2, then
 * "ready" to the supervisor, and only then the first packet is read. A failure before that ends
 * the process with a message and the sandbox is never started.
 *
 * After the start nothing is allocated per packet; the bound of the gate's memory is
 * docs/memory.md.
 */
#include "gate/gate.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "airlock/addresses.h"
#include "gate/context.h"
#include "gate/control.h"
#include "gate/datagrams.h"
#include "gate/dns_server.h"
#include "gate/flow.h"
#include "gate/isolate.h"
#include "gate/names.h"
#include "gate/pipes.h"
#include "gate/publish.h"
#include "gate/quota.h"
#include "gate/resolver.h"

/* Descriptors beyond two a flow: datagrams, pipes, the resolver's sockets, the gate's own. */
enum { OTHER_DESCRIPTORS = DATAGRAM_FLOWS_MAX + 2 * PIPES_MAX + 512, KEPT_MAX = 128 };

enum { EXIT_GATE_FAILED = 1 };

static void reply_to_question(void *ctx, const struct dns_client *client, struct span message)
{
	struct gate *g = ctx;

	if (client->tcp) {
		flows_answer_dns(g->flows, client->flow, client->generation, message);
		return;
	}
	packet_build_udp(tun_begin(g->tun), &client->to, &client->from, message);
	tun_send(g->tun);
}

static void take_question(struct gate *g, const struct packet *p)
{
	struct dns_client client = {
		.from = {.addr = p->src, .port = p->src_port},
		.to = {.addr = p->dst, .port = p->dst_port},
	};

	dns_server_query(g->dns, &client, p->payload, loop_now(g->loop));
}

static void take_tcp(struct gate *g, const struct packet *p)
{
	const uint8_t kind = p->tcp_flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN);

	if (kind == TCP_SYN) {
		flows_take_syn(g->flows, p);
		return;
	}
	/* The airlock sends only a SYN here; anything else has no owner. */
	g->counters.frames_denied++;
	if (kind & TCP_RST)
		return;
	packet_build_reset(tun_begin(g->tun), p);
	tun_send(g->tun);
}

/* A protocol that the gate does not carry (SCTP, GRE, ESP, ...). */
static void refuse_protocol(struct gate *g, const struct packet *p)
{
	g->counters.frames_denied++;
	packet_build_unreachable(tun_begin(g->tun), p, UNREACHABLE_PROHIBITED);
	tun_send(g->tun);
}

static bool is_from_sandbox(const struct gate *g, const struct packet *p)
{
	return addr_equal(&p->src, &g->sandbox_v4) || addr_equal(&p->src, &g->sandbox_v6);
}

static void take_packet(void *ctx, struct span octets)
{
	struct gate *g = ctx;
	struct packet p;
	enum packet_error e = packet_parse(octets, &p);

	if ((e != PACKET_OK && e != PACKET_OTHER_PROTOCOL) || !is_from_sandbox(g, &p))
		g->counters.frames_noise++;
	else if (e == PACKET_OTHER_PROTOCOL)
		refuse_protocol(g, &p);
	else if (p.proto == IP_TCP)
		take_tcp(g, &p);
	else if (p.proto == IP_UDP && p.dst_port == 53)
		take_question(g, &p);
	else if (p.proto == IP_UDP)
		datagrams_take_udp(g->datagrams, &p);
	else
		datagrams_take_echo(g->datagrams, &p);
}

static void after_turn(void *ctx)
{
	struct gate *g = ctx;

	flows_run_queue(g->flows);
}

static void set_airlock_addresses(struct gate *g)
{
	static const struct {
		const char *text;
		size_t at;
	} table[] = {
		{AIRLOCK_GATE_V4, offsetof(struct gate, gate_v4)},
		{AIRLOCK_GATE_V6, offsetof(struct gate, gate_v6)},
		{AIRLOCK_SANDBOX_V4, offsetof(struct gate, sandbox_v4)},
		{AIRLOCK_SANDBOX_V6, offsetof(struct gate, sandbox_v6)},
	};

	for (size_t i = 0; i < sg_array_len(table); i++)
		if (!addr_parse(table[i].text, strlen(table[i].text),
				(struct addr *)((char *)g + table[i].at)))
			abort();
}

/* As many flows as the policy says and the descriptors of this process allow. */
static uint32_t size_flows(const struct gate *g)
{
	uint32_t wanted = ruleset_policy(g->rules)->limits.flows;
	struct rlimit l;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &l) != 0)
		return wanted;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	most = l.rlim_max > OTHER_DESCRIPTORS + 64 ? (l.rlim_max - OTHER_DESCRIPTORS) / 2 : 32;
	return most < wanted ? (uint32_t)most : wanted;
}

static int begin_names(struct gate *g, const struct gate_setup *s, struct err *e)
{
	struct dns_server_config c = {
		.loop = g->loop,
		.refusals = g->refusals,
		.sandbox = g->sandbox,
		.rules = &g->rules,
		.host = g->host,
		.gate_v4 = g->gate_v4,
		.gate_v6 = g->gate_v6,
		.ipv6 = s->listen_v6 >= 0,
		.reply = reply_to_question,
		.ctx = g,
	};

	g->resolver = resolver_new(g->loop, s->resolver, e);
	if (!g->resolver)
		return -1;
	g->names = names_new();
	c.names = g->names;
	c.resolver = g->resolver;
	g->dns = g->names ? dns_server_new(&c) : NULL;
	return g->dns ? 0 : err_set(e, "cannot start the gate: no memory for names");
}

static int begin_parts(struct gate *g, const struct gate_setup *s, struct err *e)
{
	uint32_t max_flows = size_flows(g);

	g->loop = loop_new(max_flows + 2 * RESOLVER_IN_FLIGHT_MAX + 1024);
	g->refusals = refusals_new();
	g->pipes = pipes_new();
	g->quota = quota_new();
	g->host = malloc(sizeof(*g->host));
	if (!g->loop || !g->refusals || !g->pipes || !g->quota || !g->host)
		return err_set(e, "cannot start the gate: no memory");
	*g->host = *s->host;
	loop_set_after_turn(g->loop, after_turn, g);
	if (begin_names(g, s, e) != 0)
		return -1;
	g->flows = flows_new(g, max_flows, s->listen_v4, s->listen_v6, e);
	if (!g->flows)
		return -1;
	g->datagrams = datagrams_new(g);
	g->publisher = publisher_new(g, s->door, s->publish, s->n_publish);
	g->control = control_new(g, s->control);
	g->tun = tun_new(g->loop, s->tun, take_packet, g);
	if (!g->datagrams || !g->publisher || !g->control || !g->tun)
		return err_set(e, "cannot start the gate: no memory");
	return 0;
}

static int begin(struct gate *g, const struct gate_setup *s, struct err *e)
{
	int keep[KEPT_MAX];
	size_t n = 0;

	if (s->n_publish > KEPT_MAX - 8)
		return err_set(e, "cannot publish more than %d ports", KEPT_MAX - 8);
	keep[n++] = s->tun;
	keep[n++] = s->listen_v4;
	keep[n++] = s->listen_v6;
	keep[n++] = s->door;
	keep[n++] = s->control;
	for (size_t i = 0; i < s->n_publish; i++)
		keep[n++] = s->publish[i].listener;
	if (isolate_early(keep, n, e) != 0)
		return -1;
	set_airlock_addresses(g);
	if (begin_parts(g, s, e) != 0)
		return -1;
	return isolate_fully(e);
}

int gate_main(const struct gate_setup *s)
{
	static struct gate gate;
	struct err e;
	int r;

	signal(SIGPIPE, SIG_IGN);
	gate.sandbox = s->sandbox;
	gate.rules = s->rules;
	if (begin(&gate, s, &e) != 0) {
		control_say_failed(s->control, &e);
		return EXIT_GATE_FAILED;
	}
	if (!control_say_ready(gate.control))
		return EXIT_GATE_FAILED;
	r = loop_run(gate.loop);
	return r == 0 ? EXIT_SUCCESS : EXIT_GATE_FAILED;
}
