/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oci_state: the state of a container as its runtime gives it to a hook (OCI runtime-spec 1.0,
 * "State" and "POSIX-platform Hooks"), as far as a gate has to know it; pure.
 *
 * The runtime writes it, but its annotations are the words of whoever made the container.
 */
#ifndef SG_SANDBOX_OCI_STATE_H
#define SG_SANDBOX_OCI_STATE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/span.h"

enum { OCI_STATE_MAX = 4 * 1024 * 1024, OCI_ID_MAX = 256, OCI_WORDS_MAX = 4096 };

/* What the annotations "sandgate.KEY" say. */
enum oci_key {
	OCI_POLICY,  /* a preset or an absolute path */
	OCI_ALLOW,   /* items, as --allow takes them, with commas or spaces between */
	OCI_DENY,    /* likewise */
	OCI_PUBLISH, /* as --publish */
	OCI_NAME,    /* of the sandbox */
	OCI_SANDBOX, /* the sandbox that waits for this container; alone */
	OCI_KEYS,
};

struct oci_state {
	pid_t pid;    /* above 0 */
	char *id;     /* letters, digits and "_.+-" */
	char *bundle; /* absolute */
	char *pod;    /* the annotation that engines name a pod by, or NULL */
	bool of_podman;
	char *say[OCI_KEYS]; /* NULL: there is no such annotation; one line of text, no controls */
	bool asks;	     /* there is one */
};

/*
 * 0, or -1 with the message and nothing to free. An annotation "sandgate.*" that is not known is an
 * error: its meaning, to somebody, was that something is closed.
 */
int oci_state_parse(struct span text, struct oci_state *out, struct err *e) sg_must_check;
void oci_state_free(struct oci_state *s);

/* Where a container's network comes from, by its configuration (config.json of the bundle). */
enum oci_network_kind {
	OCI_NETWORK_HOST, /* none of its own */
	OCI_NETWORK_OWN,  /* made with it, or by its engine for it */
	OCI_NETWORK_OF,	  /* that of the process `of`: another container's, or a pod's */
};

struct oci_network {
	enum oci_network_kind kind;
	pid_t of;
	bool admin; /* what runs in the container may have, or get, CAP_NET_ADMIN */
};

/* Strictly parsed; its numbers are reals. NULL with the message. */
json_t *oci_config_load(struct span config, struct err *e);

/* What the annotations in a configuration say, before there is a container: the rest of *out is none. */
int oci_config_words(struct span config, struct oci_state *out, struct err *e) sg_must_check;

/* The folder on the host that will be the container's root. */
struct oci_root {
	char path[PATH_MAX]; /* absolute */
	bool readonly;	     /* nobody inside will be able to write it */
};

int oci_root_parse(struct span config, struct oci_root *out, struct err *e) sg_must_check;

int oci_network_parse(struct span config, struct oci_network *out, struct err *e) sg_must_check;

#endif
