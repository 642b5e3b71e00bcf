/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate: the process that decides. See ARCHITECTURE.md for its place.
 *
 * It is forked by the supervisor with the descriptors of one airlock, isolates
 * itself before the first byte from the sandbox, and runs one loop until its
 * control socket closes.
 */
#ifndef SG_GATE_GATE_H
#define SG_GATE_GATE_H

#include "airlock/addresses.h"
#include "audit/record.h"
#include "base/addr.h"
#include "gate/totals.h"
#include "policy/decide.h"
#include "policy/parent_proxy.h"

enum { RESOLVER_SERVERS_MAX = 8, HOST_NAMES_MAX = 1024 };

/* The host's resolver configuration, read by the supervisor and followed by it. */
struct resolver_config {
	size_t n_servers;
	struct endpoint
		servers[RESOLVER_SERVERS_MAX]; /* in order of resolv.conf; port 53 unless said */
	uint32_t timeout_ms;		       /* of one try */
	uint32_t tries;
	size_t n_hosts; /* the host's own hosts file: names answered without asking */
	struct host_name {
		struct name name;
		struct addr addr;
	} * hosts;
};

struct gate_publish {
	int listener; /* listening, non-blocking, made by the supervisor on 127.0.0.1 */
	uint16_t sandbox_port;
};

struct gate_setup {
	const char *sandbox;			   /* its name, for remedies */
	int tun, listen_v4, listen_v6, door;	   /* from the airlock; -1 where there is none */
	const struct airlock_addresses *addresses; /* NULL: the usual */
	/* A virtual machine that configures itself: its sockets from the airlock, or -1. */
	int dhcp, router;
	uint8_t guest_mac[6];
	uint32_t guest_mtu; /* of the link, whatever is at its end; 0: as long as a packet may be */
	int verdicts;	    /* SOCK_SEQPACKET to the recorder of a capture, or -1 */
	int control;	    /* SOCK_SEQPACKET to the supervisor: JSON messages, docs/protocol.md */
	const struct gate_publish *publish;
	size_t n_publish;
	struct ruleset
		*rules; /* of the process forked: freed when another policy takes its place */
	const struct host_prefixes *host;
	const struct resolver_config *resolver;
	const struct parent_proxy *parent; /* that the host has to use; NULL: none */
	const struct catalogue *catalogue; /* for remedies; lives as long as the process */
	struct ring *ring;		   /* audit/record.h; NULL: nothing is kept */
	int wake;			   /* eventfd of the ring's reader, or -1 */
	const struct gate_totals *totals;  /* what gates before counted; NULL: begins at nothing */
};

/* Never returns to the caller's code: the result is the exit status of the process. */
int gate_main(const struct gate_setup *s);

#endif
