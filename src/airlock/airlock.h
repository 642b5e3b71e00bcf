/* SPDX-License-Identifier: Apache-2.0 */
/*
 * airlock: the network namespace between a sandbox and the gate.
 *
 * airlock_open() starts the keeper, which makes the namespaces, devices, rules
 * and sockets, and hands out the descriptors. When the keeper ends, everything it
 * made is gone: no name in the file system, no persistent device.
 */
#ifndef SG_AIRLOCK_AIRLOCK_H
#define SG_AIRLOCK_AIRLOCK_H

#include <stdbool.h>
#include <sys/types.h>
#include <stdint.h>

#include "airlock/addresses.h"
#include "base/err.h"

struct airlock_config {
	uid_t uid; /* the sandbox's user and group, as seen inside its user namespace: the person's
		    */
	gid_t gid;
	bool door; /* keep a process in the sandbox's namespace that makes sockets for --publish */
};

/* What the gate needs; handed over, then closed by the supervisor. */
struct airlock_gate_fds {
	int tun;       /* IFF_TUN | IFF_NO_PI, non-blocking */
	int listen_v4; /* IP_TRANSPARENT listeners, non-blocking */
	int listen_v6; /* -1 when the kernel has no IPv6 */
};

struct airlock {
	pid_t keeper;
	int keeper_pidfd;
	int control;	    /* requests to the keeper; the supervisor's end */
	int sandbox_userns; /* -1 when made without user namespaces */
	int sandbox_netns;
	int door; /* SOCK_SEQPACKET to the door process, for the gate; -1 without one */
	struct airlock_gate_fds gate;
};

/*
 * Makes it all, ready to pass packets, both ends of the link with carrier. On failure nothing is
 * left and the message names the missing thing and the fix. The keeper dies with the thread that
 * calls this (PR_SET_PDEATHSIG), and with it all but what the gate holds.
 */
int airlock_open(const struct airlock_config *c, struct airlock *out, struct err *e) sg_must_check;

/*
 * The same in three steps, for a caller that has other work to do meanwhile: the keeper is
 * started; the sandbox's namespaces are there, so that an engine can enter them; all the rest is
 * there. Until the last step has succeeded the sandbox's link leads nowhere. Each of them closes
 * the airlock when it fails.
 */
int airlock_begin(const struct airlock_config *c, struct airlock *out, struct err *e) sg_must_check;
int airlock_await_namespaces(struct airlock *a, struct err *e) sg_must_check;
int airlock_await_ready(struct airlock *a, struct err *e) sg_must_check;

/*
 * Fresh tun and listeners after a gate died. Closes a->gate first. A gate that is still there loses
 * its tun device; as long as it listens there is no other.
 */
int airlock_renew(struct airlock *a, struct airlock_gate_fds *out, struct err *e) sg_must_check;

struct airlock_counters {
	uint64_t frames;  /* from the sandbox, all */
	uint64_t noise;	  /* dropped as link noise */
	uint64_t unowned; /* TCP without a socket, answered with RST */
};
int airlock_read_counters(struct airlock *a, struct airlock_counters *out) sg_must_check;

/* Closes the gate's descriptors in this process (after the gate has them). */
void airlock_close_gate_fds(struct airlock_gate_fds *f);

/* Ends the keeper and closes everything; safe on a half-open one. */
void airlock_close(struct airlock *a);

#endif
