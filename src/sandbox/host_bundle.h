/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_bundle: the certificate authorities that the host trusts, as one text of PEM.
 *
 * It is the file that the person's SSL_CERT_FILE names, as it is for their own programs, or else
 * the first of the places where distributions keep it. It decides whom the broker believes, so it
 * is read only from root's or the person's own hands, and never from a folder that a sandbox may
 * write.
 */
#ifndef SG_SANDBOX_HOST_BUNDLE_H
#define SG_SANDBOX_HOST_BUNDLE_H

#include "sandbox/path.h"
#include "sandbox/trusted_file.h"

enum { HOST_BUNDLE_MAX = 4 * 1024 * 1024 };

struct host_bundle_request {
	const struct tree *host;
	const char *cert_file; /* the person's SSL_CERT_FILE, or NULL */
	const char *workdir;   /* absolute, without links: a sandbox writes it; or NULL */
	bool (*was_shared)(const void *ctx, const char *path); /* as in struct file_request */
	const void *was_shared_ctx;
};

struct host_bundle {
	struct trusted_text text; /* allocated; empty when the host has none */
	char *note; /* what the person should know of SSL_CERT_FILE, allocated, or NULL */
};

/* 0, or -1 with the message and nothing to free. */
int host_bundle_read(const struct host_bundle_request *r, struct host_bundle *out,
		     struct err *e) sg_must_check;
void host_bundle_free(struct host_bundle *b);

#endif
