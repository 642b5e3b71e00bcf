/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca_bundle: whom the programs in a sandbox trust.
 *
 * Theory of operation. Four files in a folder of the sandbox's in the registry (runtime_dir.h), which
 * its programs see read-only: a bundle of PEM; the same as a PKCS#12 store for Java; PEM of what Node
 * trusts besides its own list, which it reads whole at each start of each program; and a policy for
 * Chromium, which has a list of its own. Each begins with a block of fixed size for the sandbox's own authorities, empty (white space; a
 * bag that readers pass over) as long as there is no broker, and goes on with what the host trusts.
 * A new authority is one pwrite into that block: no length after it changes, and what is mounted,
 * opened or found by a variable stays the same file. A reader at that very moment sees the old
 * block, the new one, or the old one with the beginning of the new.
 *
 * Only the supervisor can write them: the mounts are read-only, and no sandbox sees the registry.
 */
#ifndef SG_SANDBOX_CA_BUNDLE_H
#define SG_SANDBOX_CA_BUNDLE_H

#include <limits.h>

#include "base/err.h"
#include "base/span.h"
#include "sandbox/files/file_system.h"
#include "sandbox/files/host_bundle.h"

/* Of the block for the authorities: one that is constrained to 300 names has 8 KiB. */
enum { CA_BUNDLE_HEAD = 64 * 1024 };

enum ca_file { CA_BUNDLE, CA_EXTRA, CA_STORE, CA_POLICY, CA_FILES };

/* Inside. */
#define SANDBOX_CA	  SANDBOX_FILES "/ca"
#define SANDBOX_CA_BUNDLE SANDBOX_CA "/bundle.pem"
#define SANDBOX_CA_EXTRA  SANDBOX_CA "/extra.pem"
#define SANDBOX_CA_STORE  SANDBOX_CA "/store.p12"
#define SANDBOX_CA_POLICY SANDBOX_CA "/policy.json"

struct ca_bundle {
	struct host_bundle host;
	bool mapped_text, mapped_extra; /* of the host's: they lie in the files */
	int fd[CA_FILES];		/* open for writing; -1 */
	char folder[PATH_MAX];		/* on the host, without links: to be mounted */
	char bundle[PATH_MAX];		/* and two that are in it */
	char store[PATH_MAX];
	char layers[PATH_MAX]; /* on the host: ca_layers.h */
	size_t store_head;     /* where the authorities are in the store */
};

#define CA_BUNDLE_NONE ((struct ca_bundle){.fd = {-1, -1, -1, -1}})

/*
 * Reads what the host trusts and makes the files, without an authority, in a folder in `dir`, whose
 * path is `path`. 0, or -1 with the message and nothing to close.
 */
int ca_bundle_open(struct ca_bundle *b, const struct host_bundle_request *r, int dir,
		   const char *path, struct err *e) sg_must_check;

/* The paths alone, of one that another process has made there. Nothing is to be closed. */
int ca_bundle_find(struct ca_bundle *b, const char *path, struct err *e) sg_must_check;

/*
 * What the files stand in for inside: where they are found by the variables of environment.c, and
 * the places of the distributions. `out` has room for CA_BUNDLE_PLACES; the paths are b's.
 */
enum { CA_BUNDLE_PLACES = 24 };
void ca_bundle_places(const struct ca_bundle *b, struct file_over out[CA_BUNDLE_PLACES]);

/* Whom the host trusts: PEM, of b; for the broker. */
struct span ca_bundle_host(const struct ca_bundle *b);

/*
 * Puts the authorities, PEM one after the other, in the place of those that were there; none: takes
 * them away. What is not just certificates, or more than fits, is an error, and changes nothing.
 * 0, or -1 with the message.
 */
int ca_bundle_set_authority(struct ca_bundle *b, struct span pem, struct err *e) sg_must_check;

/* The files stay. */
void ca_bundle_close(struct ca_bundle *b);

/* Takes them out of `dir`, if they are there. */
void ca_bundle_remove(int dir);

#endif
