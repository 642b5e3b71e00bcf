/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_place: whom the programs of a container trust that another engine has made, or is about to
 * start: the sandbox's certificates (ca_bundle.h) over those of the image, and in a folder of their
 * own, for the variables of environment.h.
 *
 * Theory of operation. A mount goes from one mount namespace to another as a descriptor.
 *
 *	caller ── fork ── placer ── fork ── cloner
 *
 *	cloner	clones the sandbox's files, read-only for good (mount_clone.h), one for each place; another
 *		one the layers
 *	placer	enters the container's mount namespace, drops what it does not need, and moves each
 *		clone onto its place; nothing of the caller's is entered or changed
 *
 * The container's files are its own to arrange, and those of a running one may change at any moment.
 * A place is looked up once, below the container's root, with links that cannot lead out of it, and
 * what was found is what is mounted upon. Only a file is covered, only one that the image has there: a
 * file that its owner has mounted stays. Nothing is mounted upon a mount that others share, since it
 * would show there. Folders are made in the root's own file system or in a tmpfs alone.
 */
#ifndef SG_SANDBOX_TRUST_PLACE_H
#define SG_SANDBOX_TRUST_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "sandbox/files/ca_bundle.h"

struct trust_target {
	int process; /* pidfd; its mount namespace is the container's */
	/* The container's root as that namespace has it, absolute: before the process enters it. NULL: the
	 * root that the process has. */
	const char *root;
	/* Where nothing runs in it yet, and its root can be written: its folder of certificates is to be
	 * one that can be changed (trust_layer.h). */
	bool layered;
};

enum { TRUST_WHY_MAX = 256 };

struct trust_placed {
	const char *first; /* of the image's files that were covered, inside; NULL: it has none */
	size_t n;	   /* how many */
	bool layered;	   /* the folder of certificates can be changed inside */
	/* Why it cannot, where it should; or empty. */
	char unlayered[TRUST_WHY_MAX];
};

/*
 * 0 when the certificates are in SANDBOX_CA and over what the image has. 1 when the process has the
 * files of the caller itself, or of the host's first process: nothing was touched. -1 with the message;
 * some of the places may be covered then.
 */
int trust_place(const struct ca_bundle *ca, const struct trust_target *t, struct trust_placed *out,
		struct err *e) sg_must_check;

#endif
