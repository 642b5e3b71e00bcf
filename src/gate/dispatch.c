/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dispatch.h"

#include "gate/datagrams.h"
#include "gate/flow.h"
#include "gate/fragments.h"
#include "gate/proxy.h"

enum { DNS_PORT = 53 };

void dispatch_reply(void *ctx, const struct dns_client *client, enum reason why,
		    struct span message)
{
	struct gate *g = ctx;

	if (client->by_proxy) {
		flows_answer_proxy(g->flows, client->flow, client->generation, why);
		return;
	}
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
	g->counters->frames_denied++;
	if (kind & TCP_RST)
		return;
	packet_build_reset(tun_begin(g->tun), p);
	tun_send(g->tun);
}

/* A protocol that the gate does not carry (SCTP, GRE, ESP, ...). */
static void refuse_protocol(struct gate *g, const struct packet *p)
{
	const struct endpoint near = {p->src, 0}, far = {p->dst, 0};
	struct event refusal = {.kind = RECORD_DENY,
				.proto = RECORD_IP,
				.exchange = {.near = &near, .far = &far, .proto = p->proto},
				.reason = REASON_PROTOCOL_NOT_CARRIED,
				.addr = &p->dst};

	journal_note(g->journal, &refusal);
	g->counters->frames_denied++;
	if (!answers_take(g->answers, p, loop_now(g->loop)))
		return;
	packet_build_unreachable(tun_begin(g->tun), p, UNREACHABLE_PROHIBITED);
	tun_send(g->tun);
}

static void take_packet(struct gate *g, enum packet_error e, const struct packet *p)
{
	if ((e != PACKET_OK && e != PACKET_OTHER_PROTOCOL) || !gate_is_sandbox(g, &p->src))
		g->counters->frames_noise++;
	else if (e == PACKET_OTHER_PROTOCOL)
		refuse_protocol(g, p);
	else if (p->proto == IP_TCP)
		take_tcp(g, p);
	else if (p->proto == IP_UDP && p->dst_port == DNS_PORT)
		take_question(g, p);
	else if (p->proto == IP_UDP)
		datagrams_take_udp(g->datagrams, p);
	else
		datagrams_take_echo(g->datagrams, p);
}

static void take_piece(struct gate *g, struct span octets)
{
	struct span whole;
	struct packet p;

	switch (fragments_take(g->fragments, octets, loop_now(g->loop), &whole)) {
	case FRAGMENTS_WHOLE:
		take_packet(g, packet_parse(whole, &p), &p);
		break;
	case FRAGMENTS_REFUSED:
		g->counters->frames_noise++;
		break;
	case FRAGMENTS_MORE:
		break;
	}
}

void dispatch_packet(void *ctx, struct span octets)
{
	struct gate *g = ctx;
	struct packet p;
	enum packet_error e = packet_parse(octets, &p);

	if (e == PACKET_FRAGMENT)
		take_piece(g, octets);
	else
		take_packet(g, e, &p);
}

void dispatch_run_end(void *ctx)
{
	struct gate *g = ctx;

	datagrams_flush(g->datagrams);
}
