/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oci_config: adds to a container's configuration (OCI runtime-spec 1.0, config.json) before its
 * runtime sees it; pure. What is not added to stays octet by octet as it was.
 */
#ifndef SG_SANDBOX_OCI_CONFIG_H
#define SG_SANDBOX_OCI_CONFIG_H

#include "base/err.h"
#include "base/span.h"

struct oci_additions {
	/* "NAME=VALUE", NULL-terminated or NULL: those whose NAME the container's process has not. */
	char *const *env;
	/* Its filter of system calls, where there is one, refuses AF_VSOCK (oci_seccomp.h). */
	bool no_vsock;
};

/* The new text, NUL-terminated, to free; NULL with the message. */
char *oci_config_add(struct span config, const struct oci_additions *a, struct err *e);

#endif
