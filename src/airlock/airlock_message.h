/* SPDX-License-Identifier: Apache-2.0 */
/*
 * airlock_message: what the supervisor, the keeper and the sandbox's side say to each other.
 *
 * One datagram of fixed size over a SOCK_SEQPACKET pair, the same machine and the same program
 * at both ends; descriptors ride along in the order of their slots.
 */
#ifndef SG_AIRLOCK_AIRLOCK_MESSAGE_H
#define SG_AIRLOCK_AIRLOCK_MESSAGE_H

#include <stdint.h>

#include "airlock/airlock.h"

/* Who sends it → to whom. */
enum airlock_message_kind {
	MESSAGE_FAILED = 1, /* keeper → supervisor, a helper → keeper: err says why */
	MESSAGE_READY,	    /* keeper → supervisor: tun, listeners and door */
	MESSAGE_RENEW,	    /* supervisor → keeper: for a new gate */
	MESSAGE_RENEWED,    /* keeper → supervisor: tun and listeners */
	MESSAGE_COUNT,	    /* supervisor → keeper */
	MESSAGE_COUNTERS,   /* keeper → supervisor */
	MESSAGE_NAMESPACES, /* sandbox's side → keeper → supervisor: its two namespaces; keeper →
				 placer: the airlock's */
	MESSAGE_LINK_IS_HERE, /* keeper → sandbox's side: eth0 is there; placer → keeper: link0 */
	MESSAGE_SIDE_READY,   /* a helper → keeper: the door, if there is one */
	MESSAGE_RULES_LOADED, /* the loader of rules → keeper */
	MESSAGE_CAPTURE,      /* supervisor → keeper */
	MESSAGE_CAPTURED,     /* keeper → supervisor: the packet socket */
};

enum message_slot {
	SLOT_USERNS,
	SLOT_NETNS,
	SLOT_TUN,
	SLOT_LISTEN_V4,
	SLOT_LISTEN_V6,
	SLOT_DOOR,
	SLOT_TAP,
	SLOT_DHCP,
	SLOT_ROUTER,
	SLOT_CAPTURE,
	SLOTS,
};

struct airlock_message {
	uint32_t kind;
	uint32_t
		slots; /* bit of every slot whose descriptor comes along; set by airlock_message_send */
	struct airlock_counters counters;
	struct err err; /* MESSAGE_FAILED */
	int fds[SLOTS]; /* -1: none. The receiver owns them; the sender keeps its own */
};

/* A message of this kind without descriptors. */
void airlock_message_init(struct airlock_message *m, enum airlock_message_kind kind);

/* 0 or -errno. Never raises SIGPIPE. */
int airlock_message_send(int sock, struct airlock_message *m) sg_must_check;

/*
 * Waits up to timeout_ms (-1: without end). 0 or -errno: -ETIMEDOUT, -EPIPE at the end of the
 * stream, -EBADMSG for anything that airlock_message_send does not write.
 */
int airlock_message_receive(int sock, struct airlock_message *m, int timeout_ms) sg_must_check;

/* Closes what came along. */
void airlock_message_close_fds(struct airlock_message *m);

#endif
