/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach: puts a network namespace that is there already behind a gate: a container's, by whatever
 * engine, or a person's own.
 *
 * A supervisor of its own is left in the background as long as the namespace is behind the gate; it
 * is a sandbox like any other to `ls`, `net`, `egress` and the logs, and `sandgate detach` or
 * `stop` ends it. What it leaves behind is a namespace without a link.
 */
#ifndef SG_SANDBOX_ATTACH_H
#define SG_SANDBOX_ATTACH_H

#include "airlock/airlock.h"
#include "policy/policy.h"
#include "sandbox/log/capture_request.h"
#include "sandbox/settings/sources.h"

struct attach_publish {
	struct endpoint host; /* where the supervisor listens, TCP */
	uint16_t sandbox;     /* port inside: of its own address, never of its loopback */
};

struct attach_request {
	const char *name;      /* of the sandbox; NULL: made from `name_from` */
	const char *name_from; /* a path or a word; NULL: `engine` */
	const char *engine;    /* as `ls` says it: "netns", "podman", "docker", "cni" */
	int netns;	       /* stays the caller's */
	/*
	 * NULL: `netns` is the sandbox's. Else that is made later: `netns` is where the engine finds
	 * `device`, which it moves into the sandbox's namespace (AIRLOCK_HANDED), and this is the
	 * path at which it will be. It is looked at from then on, and the sandbox ends with it.
	 */
	const char *awaited;
	int alive; /* pidfd, stays the caller's: the sandbox ends with that process; -1: when asked */
	const struct policy *policy; /* validated and resolved */
	const char *agent;	     /* or NULL, as run_options has it */
	const struct sources *sources;
	enum airlock_others others;
	const struct airlock_inbound *inbound;	   /* as airlock_config has it */
	const char *device;			   /* NULL: eth0 */
	const struct airlock_addresses *addresses; /* NULL: the usual */
	const uint8_t *mac;			   /* NULL: the usual */
	uint32_t mtu;				   /* 0: the usual */
	const struct attach_publish *publish;	   /* beside the policy's own */
	size_t n_publish;
	/* A network of docker's, whose containers learn of the authority (shared_trust.h); or NULL. */
	const char *shared_trust;
	/*
	 * After the end of `alive` the engine takes its own device away, and complains, and leaves
	 * rules of its own, when there is none of that name: where there was one, the link stays in
	 * its place for a moment.
	 */
	bool engine_takes;
	/* What runs in it never gets CAP_NET_ADMIN, although `alive` has it still: a container's
	 * first process before it becomes that. */
	bool without_admin;
	/*
	 * When nothing comes of it, also because who asked is gone before it could be told, and the
	 * device is not there any more: one with these addresses that leads nowhere is left in its
	 * place, for those who made the one before (inbound.h). Or NULL.
	 */
	const struct airlock_inbound *leave;
	/* A lock (F_OFD_SETLK) that the supervisor holds as well until it has told, or has ended, and
	 * then lets go of for all; 0: none. Stays the caller's. */
	int lock;
	bool quiet;		     /* say nothing on standard error when it went well */
	struct capture_request pcap; /* from the first frame on */
};

/*
 * Returns when the gate is ready and the namespace has no other way out (0, and the name of the
 * sandbox in `name`, of SANDBOX_NAME_SIZE octets), or with nothing made (-1 with the message).
 */
int attach_start(const struct attach_request *r, char *name, struct err *e) sg_must_check;

/* In the supervisor, when it has told that it is ready. */
void attach_told(const struct attach_request *r);

/* Ends one that was attached, and waits for it. -ENOENT: there is none; -1 with the message. */
int attach_end(const char *name, struct err *e) sg_must_check;

#endif
