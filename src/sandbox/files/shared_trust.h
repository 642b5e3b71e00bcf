/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_trust: whom the containers of one network of docker's trust, in a folder that can be
 * mounted before any of them is there.
 *
 * Theory of operation. Docker tells a network driver of a container when its mounts are chosen
 * already, so what is to be mounted has a path that the network alone decides:
 *
 *	/run/sandgate-docker/ID		root's; its lock (flock) is held while what is below changes, so
 *					nobody else may open it for reading (0711)
 *	/run/sandgate-docker/ID/ca	to be mounted: bundle.pem, extra.pem, as ca_bundle.h has them
 *	/run/sandgate-docker/ID/of	never mounted: NAME, the authorities of that sandbox, PEM
 *
 * Each sandbox has an authority of its own, which its supervisor puts there before the container
 * begins and again when a broker is replaced. The files in `ca` are made anew of all in `of` whose
 * sandbox lives, and renamed into place: a mounted folder shows that, a mounted file would not. A
 * reader sees the old file or the new one. What a supervisor that was killed leaves in `of` is taken
 * away by whoever makes the files next.
 *
 * Nothing is read back from `ca`, which a container may be able to write that was given it without
 * ":ro"; and the lock is not on it, which any reader could hold.
 */
#ifndef SG_SANDBOX_SHARED_TRUST_H
#define SG_SANDBOX_SHARED_TRUST_H

#include <limits.h>

#include "sandbox/files/ca_bundle.h"

#define SHARED_TRUST_BASE "/run/sandgate-docker"

/* The folder to be mounted. Returns out. `id` is a word of letters and digits. */
char *shared_trust_path(const char *id, char out[PATH_MAX]);

/*
 * For the supervisor of a sandbox: puts its authorities, certificates of PEM and nothing else, in the
 * place of those that it had there. 0, or -1 with the message.
 */
int shared_trust_put(const char *id, const char *sandbox, const struct host_bundle *host,
		     struct span pem, struct err *e) sg_must_check;

/*
 * Makes the folder when it is not there, and its files anew. What the host trusts is read for this
 * process's environment. 0, or -1 with the message.
 */
int shared_trust_refresh(const char *id, struct err *e) sg_must_check;

/* Takes the folder away. 0, also when there is none; -1 with the message. */
int shared_trust_remove(const char *id, struct err *e) sg_must_check;

#endif
