/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_bundle: the certificate authorities that the host trusts, as one text of PEM.
 *
 * It is the file that the person's SSL_CERT_FILE names, as it is for their own programs, or else
 * the first of the places where distributions keep it. What Node trusts besides its own list is
 * what the person's NODE_EXTRA_CA_CERTS names. Such files decide whom the broker and the sandbox
 * believe, so they are read only from root's or the person's own hands, and never from a folder
 * that a sandbox may write.
 */
#ifndef SG_SANDBOX_HOST_BUNDLE_H
#define SG_SANDBOX_HOST_BUNDLE_H

#include "sandbox/path.h"
#include "sandbox/settings/trusted_file.h"

enum { HOST_BUNDLE_MAX = 4 * 1024 * 1024 };

struct host_bundle_request {
	const struct tree *host;
	char *const *person; /* their environment */
	const char *workdir; /* absolute, without links: a sandbox writes it; or NULL */
	bool (*was_shared)(const void *ctx, const char *path); /* as in struct file_request */
	const void *was_shared_ctx;
};

struct host_bundle {
	struct trusted_text text;  /* empty when the host has none */
	struct trusted_text extra; /* for Node; empty: none */
	char *notes[3]; /* what the person should know of their variables; NULL-terminated */
};

/* Do their variables name any such file? */
bool host_bundle_is_named(char *const *person);

/* 0, or -1 with the message and nothing to free. */
int host_bundle_read(const struct host_bundle_request *r, struct host_bundle *out,
		     struct err *e) sg_must_check;
void host_bundle_free(struct host_bundle *b);

#endif
