/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: the parts of one gate, made once by gate.c and found by all its modules.
 */
#ifndef SG_GATE_CONTEXT_H
#define SG_GATE_CONTEXT_H

#include "base/addr.h"
#include "gate/loop.h"
#include "gate/refusals.h"
#include "gate/tun.h"
#include "policy/decide.h"

struct gate_counters {
	uint64_t frames_denied; /* packets from the sandbox that got a refusal */
	uint64_t frames_noise;	/* packets that are none of the sandbox's own, or malformed */
	uint64_t flows_opened;	/* TCP, UDP and echo flows that were admitted */
	uint64_t flows_refused;
	uint64_t requests_inspected; /* plain HTTP requests judged */
	uint64_t requests_refused;
	uint64_t bytes_out, bytes_in;
};

struct gate {
	struct loop *loop;
	const char *sandbox;
	const struct ruleset *rules;
	struct host_prefixes *host;
	struct names *names;
	struct resolver *resolver;
	struct dns_server *dns;
	struct refusals *refusals;
	struct tun *tun;
	struct pipes *pipes;
	struct quota *quota;
	struct flows *flows;
	struct datagrams *datagrams; /* UDP and echo */
	struct publisher *publisher;
	struct control *control;
	struct addr gate_v4, gate_v6, sandbox_v4, sandbox_v6; /* in the airlock */
	struct gate_counters counters;
};

#endif
