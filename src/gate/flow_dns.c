/* SPDX-License-Identifier: Apache-2.0 */
/* flow_dns: questions over TCP (RFC 7766) to whatever server; the gate answers on the flow. */
#include <errno.h>
#include <sys/socket.h>

#include "gate/dns_server.h"
#include "gate/flow_table.h"

/* A question that gets no answer, a broken one, keeps its connection no longer than this. */
enum { DNS_IDLE_MS = 10000, UNANSWERED_MAX = 4096 };

/* Octets a turn, some thirty questions: a client may send them faster than they are answered. */
enum { ROUND = 1024 };

static void take_questions(struct flow *fl, struct span in)
{
	struct dns_client client = {
		.tcp = true,
		.from = fl->src,
		.to = fl->dst,
		.flow = flow_slot(fl),
		.generation = fl->generation,
	};
	uint32_t generation = fl->generation;
	struct span message;

	/* An answer may come at once, find a full socket, and end the flow. */
	while (fl->generation == generation) {
		enum dns_stream_event e = dns_stream_feed(fl->peek.dns, &in, &message);

		if (e == DNS_STREAM_BROKEN || fl->unanswered == UNANSWERED_MAX)
			flow_abort(fl);
		if (e != DNS_STREAM_MESSAGE || fl->generation != generation)
			return;
		fl->unanswered++;
		dns_server_query(fl->gate->dns, &client, message, loop_now(flow_loop(fl)));
	}
}

static void end_when_answered(struct flow *fl)
{
	fl->up.ended = true;
	if (fl->unanswered == 0)
		flow_close(fl);
}

void flow_dns_ready(struct flow *fl)
{
	uint8_t octets[ROUND];
	uint32_t generation = fl->generation;
	ssize_t n;

	flow_set_timer(fl, DNS_IDLE_MS);
	n = recv(fl->in.watch.fd, octets, sizeof(octets), 0);
	if (n > 0) {
		take_questions(fl, span_of(octets, (size_t)n));
		if (fl->generation == generation)
			flow_queue(fl);
	} else if (n == 0) {
		/* A client that has asked all it wants may half-close and wait for its answers. */
		end_when_answered(fl);
	} else if (errno != EAGAIN && errno != EINTR) {
		flow_abort(fl);
	}
}

void flows_answer_dns(struct flows *f, uint32_t slot, uint32_t generation, struct span message)
{
	struct flow *fl;

	if (slot >= f->used)
		return;
	fl = &f->flow[slot];
	if (fl->state != FLOW_DNS || fl->generation != generation)
		return;
	/* A sandbox that does not read its answers is cut off: nothing of them is kept here. */
	if (send(fl->in.watch.fd, message.p, message.n, MSG_NOSIGNAL) != (ssize_t)message.n) {
		flow_abort(fl);
		return;
	}
	if (fl->unanswered)
		fl->unanswered--;
	if (fl->up.ended)
		end_when_answered(fl);
}

bool flow_dns_begin(struct flow *fl)
{
	fl->peek.dns = calloc(1, sizeof(*fl->peek.dns));
	if (!fl->peek.dns)
		return false;
	dns_stream_init(fl->peek.dns);
	fl->state = FLOW_DNS;
	flow_set_timer(fl, DNS_IDLE_MS);
	return true;
}
