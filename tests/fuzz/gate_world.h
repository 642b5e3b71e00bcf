/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_world: a whole gate in the fuzzer's own process, in a network namespace in which nothing is
 * up, so that what it dials goes nowhere.
 */
#ifndef SG_FUZZ_GATE_WORLD_H
#define SG_FUZZ_GATE_WORLD_H

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "gate/flow.h"
#include "gate/new_policy.h"
#include "gate/parts.h"

/* libFuzzer calls it before it starts a thread, after which there is no new user namespace. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A gate lives as long as its process: nothing is ever freed, and that is no leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static struct gate gate;
static int tun_far_end;

enum { POLICIES_MAX = 8 };
static int policy_files[POLICIES_MAX];
static size_t n_policies;

static inline void after_one_turn(void *ctx)
{
	flows_run_queue(gate.flows);
	loop_stop(gate.loop);
}

/* Policies in JSON, between which the gate is changed. */
static inline void make_policies(const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t octets = strlen(texts[i]);
		int fd = memfd_create("policy", MFD_ALLOW_SEALING);

		if (fd < 0 || write(fd, texts[i], octets) != (ssize_t)octets ||
		    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0)
			abort();
		policy_files[n_policies++] = fd;
	}
}

/* Takes effect whole, whatever is open: each of these is a good one. */
static inline void change_policy(uint16_t which)
{
	uint64_t next = ruleset_generation(gate.rules) + 1;
	struct err e;

	if (new_policy_take(&gate, policy_files[which % n_policies], next, &e) != 0)
		die(1, "fuzz: %s", e.text);
	if (ruleset_generation(gate.rules) != next)
		abort();
}

static inline void begin_gate(struct ruleset *rules)
{
	static struct host_prefixes host;
	static struct resolver_config resolver = {.n_servers = 1, .timeout_ms = 100, .tries = 1};
	struct gate_setup s = {.dhcp = -1,
			       .router = -1,
			       .verdicts = -1,
			       .listen_v4 = -1,
			       .listen_v6 = -1,
			       .door = -1,
			       .host = &host,
			       .resolver = &resolver};
	int tun[2], control[2];
	struct err e;

	/* Without a namespace of its own the gate would dial what the fuzzer makes up. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		exit(77);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, tun) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control) != 0 ||
	    !addr_parse("127.0.0.1", 9, &resolver.servers[0].addr))
		abort();
	resolver.servers[0].port = 53;
	tun_far_end = tun[1];
	s.tun = tun[0];
	s.control = control[0];
	s.rules = rules;
	s.sandbox = "fuzz";
	if (!s.rules || parts_make(&gate, &s, &e) != 0)
		abort();
	loop_set_after_turn(gate.loop, after_one_turn, NULL);
}

static inline void turn(void)
{
	loop_poke(gate.loop);
	if (loop_run(gate.loop) != 0)
		abort();
}

#endif
