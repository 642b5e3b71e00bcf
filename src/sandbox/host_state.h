/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_state: what the gate must know of the host, and when it changes: its resolver, its hosts
 * file, its own addresses and connected subnets.
 *
 * resolv.conf and hosts are watched by inotify: the files themselves, for one written in place, and
 * the folders that hold them, for one moved into place; both are followed through links, since
 * resolv.conf often is one. Addresses come by rtnetlink. After any event everything of that kind is
 * read again, so a lost event costs nothing but time.
 *
 * The watch begins with the first follow of the files, which reads them again: what has changed since
 * they were first read is not missed. The kernel marks each name in the folder for it, a millisecond
 * for /etc, and gives it up after a grace period: neither is for the start, nor for a sandbox that
 * ends at once.
 */
#ifndef SG_SANDBOX_HOST_STATE_H
#define SG_SANDBOX_HOST_STATE_H

#include <poll.h>

#include "base/err.h"
#include "gate/gate.h"
#include "sandbox/settings/settings.h"

struct host_state {
	const struct settings *settings;
	int inotify, links; /* descriptors to poll for input; -1: cannot be followed, or not yet */
	bool watched;	    /* the files are, as far as the kernel has room for a watch */
	struct resolver_config resolver;
	struct host_prefixes prefixes;
};

enum host_change { HOST_UNCHANGED = 0, HOST_RESOLVER = 1, HOST_PREFIXES = 2 };

/*
 * Reads everything once. The setting `resolver` goes before the servers of resolv.conf; the
 * settings must outlive h. 0, or -1 with the message and nothing open.
 */
int host_state_open(struct host_state *h, const struct settings *settings,
		    struct err *e) sg_must_check;

/*
 * Reads what its descriptors announce; bits of enum host_change. `files`, the first time: begins to
 * watch them.
 */
int host_state_follow(struct host_state *h, bool files, bool links);

void host_state_close(struct host_state *h);

#endif
