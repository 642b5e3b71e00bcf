/* SPDX-License-Identifier: Apache-2.0 */
/* podman_words: the command line of podman for one sandbox; pure. */
#ifndef SG_SANDBOX_PODMAN_WORDS_H
#define SG_SANDBOX_PODMAN_WORDS_H

#include <stdbool.h>

#include "base/err.h"
#include "sandbox/files/file_system.h"

struct podman_request {
	const char *image;
	const char *name;		 /* of the sandbox */
	const char *const *hook_folders; /* NULL-terminated; the last one has ours */
	const char *ticket;		 /* container_offer.h; NULL: no network, and so no hook */
	const struct file_plan *plan;
	const struct file_over *over; /* as in struct file_request, but for links; or NULL */
	char *const *env;
	char *const *argv;	  /* an empty list: no command */
	const char *const *words; /* of the person's for `podman run`, or NULL */
	bool as_root;		  /* uid 0 inside */
	bool rootless;		  /* a person's podman: they have their uid and gid inside */
	unsigned gid;
	bool terminal; /* input and output are one */
};

/* Descriptors of podman's, one after the other from 3 on: the socket to `start`, and `start`. */
enum { PODMAN_FD_SOCKET = 3, PODMAN_FD_START, PODMAN_FDS_END };

/* NULL-terminated; free with name_list_free(). NULL with the message. */
char **podman_words_make(const struct podman_request *r, struct err *e);

#endif
