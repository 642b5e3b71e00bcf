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

#include "airlock/inbound.h"
#include "base/err.h"

/* What the sandbox's end of the link is. */
enum airlock_link {
	AIRLOCK_OWN,	/* eth0 in a network namespace of its own, in a user namespace of its own */
	AIRLOCK_NETNS,	/* eth0 in a namespace that is there already: a container's */
	AIRLOCK_TAP,	/* a virtual machine: link0 is a tap device, its descriptor is handed out */
	AIRLOCK_HANDED, /* an engine that makes the sandbox's namespace later: the end is left, down
			   and without an address, in a namespace from which the engine moves it into
			   the sandbox's by its name. What else is in either is the engine's affair */
};

/*
 * What becomes of the other ways out of a namespace that is there already: of every device but lo
 * and fallback tunnel devices that are down, with their addresses and routes. When one is left at
 * the end, the airlock is not made and the message names it.
 */
enum airlock_others {
	AIRLOCK_OTHERS_REFUSED, /* there must be none */
	AIRLOCK_OTHERS_REMOVED,
	AIRLOCK_OTHERS_INBOUND, /* its eth0, the only one, moves into the airlock as door0: what is
				   opened from outside comes in by it, and its answers go back */
};

/* All of it lives as long as the call; zeroes are the usual. */
struct airlock_config {
	uid_t uid; /* AIRLOCK_OWN: the sandbox's user and group, as seen inside its user namespace:
		      the person's */
	gid_t gid;
	bool door; /* keep a process that makes sockets into the sandbox for --publish */
	enum airlock_link link;
	int netns; /* AIRLOCK_NETNS, AIRLOCK_HANDED: that namespace; stays the caller's */
	enum airlock_others others;
	/* AIRLOCK_OTHERS_INBOUND: what the device was; its MAC and MTU go before `mac`, `mtu` */
	const struct airlock_inbound *inbound;
	const char *device; /* name of the sandbox's end; NULL: eth0 */
	const struct airlock_addresses *addresses;
	const uint8_t *mac; /* six octets, of the sandbox's end; NULL: 02:73:67:00:00:02 */
	uint32_t mtu;	    /* 0: AIRLOCK_MTU, for a tap 1500 */
	bool capture;	    /* from the very first frame on: `capture` of struct airlock */
};

/* What the gate needs; handed over, then closed by the supervisor. */
struct airlock_gate_fds {
	int tun;       /* IFF_TUN | IFF_NO_PI, non-blocking */
	int listen_v4; /* IP_TRANSPARENT listeners, non-blocking */
	int listen_v6; /* -1 when the kernel has no IPv6 */
	/* AIRLOCK_TAP only, else -1; for a guest that configures itself: */
	int dhcp; /* UDP, bound to port 67 of link0, broadcast allowed, non-blocking */
	int router; /* raw ICMPv6 on link0, router solicitations only, hop limit 255; -1 without IPv6 */
};

struct airlock {
	enum airlock_link link;
	pid_t keeper;
	int keeper_pidfd;
	int control;	    /* requests to the keeper; the supervisor's end */
	int sandbox_userns; /* AIRLOCK_OWN only, else -1 */
	int sandbox_netns;
	int tap;     /* AIRLOCK_TAP: IFF_TAP | IFF_NO_PI | IFF_VNET_HDR, for the machine; -1 */
	int capture; /* a packet socket on link0 with its ring (capture_ring.h), for the recorder; -1 */
	int door; /* SOCK_SEQPACKET to the door process, for the gate; -1 without one */
	struct airlock_gate_fds gate;
};

#define AIRLOCK_NONE                            \
	((struct airlock){.keeper = -1,         \
			  .keeper_pidfd = -1,   \
			  .control = -1,        \
			  .sandbox_userns = -1, \
			  .sandbox_netns = -1,  \
			  .tap = -1,            \
			  .capture = -1,        \
			  .door = -1,           \
			  .gate = {-1, -1, -1, -1, -1}})

/*
 * Makes it all, ready to pass packets, both ends of the link with carrier. On failure nothing is
 * left and the message names the missing thing and the fix. The keeper dies with the thread that
 * calls this (PR_SET_PDEATHSIG), and with it all but what the gate holds.
 */
int airlock_open(const struct airlock_config *c, struct airlock *out, struct err *e) sg_must_check;

/*
 * The same in three steps, for a caller that has other work to do meanwhile: the keeper is
 * started; the sandbox's namespaces are there, so that an engine can enter them; all the rest is
 * there. The second has nothing to wait for but with AIRLOCK_OWN. Until the last step has succeeded the sandbox's link leads nowhere. Each of them closes
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

/* The same socket as config.capture asks for, from now on: the caller's. -1 with the message. */
int airlock_open_capture(struct airlock *a, struct err *e);

struct airlock_counters {
	uint64_t frames;  /* from the sandbox, all */
	uint64_t noise;	  /* dropped as link noise, seen at the ingress or not */
	uint64_t unowned; /* TCP without a socket, answered with RST */
};
int airlock_read_counters(struct airlock *a, struct airlock_counters *out) sg_must_check;

/* Closes the gate's descriptors in this process (after the gate has them). */
void airlock_close_gate_fds(struct airlock_gate_fds *f);

/* Ends the keeper and closes everything; safe on a half-open one. */
void airlock_close(struct airlock *a);

#endif
