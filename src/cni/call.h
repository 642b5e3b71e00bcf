/* SPDX-License-Identifier: Apache-2.0 */
/* call: what the environment says of one call of the plugin (CNI 1.0.0, "Parameters"); pure. */
#ifndef SG_CNI_CALL_H
#define SG_CNI_CALL_H

#include "cni/error.h"
#include "sandbox/sandbox_name.h"

enum cni_command { CNI_ADD, CNI_CHECK, CNI_DEL, CNI_VERSION };

/* Texts are borrowed from the environment. */
struct cni_call {
	enum cni_command command;
	const char *container; /* NULL with VERSION */
	const char *ifname;    /* likewise */
	const char *netns;     /* NULL: there is none, or no longer (DEL, VERSION) */
	const char *path;      /* of plugins, with colons; NULL: not said */
};

/* `get` is getenv() or a test's. */
enum cni_code cni_call_read(char *(*get)(const char *name), struct cni_call *out,
			    struct err *e) sg_must_check;

/*
 * The sandbox's name: cni- and the first 12 of the container's id, and the device where it is not
 * eth0. Where that would not tell it from another, since the id is no number in hexadecimal or there
 * is more than small letters and digits, a digest of both follows.
 */
void cni_call_name(const struct cni_call *c, char out[SANDBOX_NAME_SIZE]);

#endif
