/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver_files: the host's resolv.conf and hosts, read as its own resolver reads them.
 *
 * Pure: the text arrives as a span. Unlike policy these files are the system's, so a line that is
 * not understood is passed over, as resolv.conf(5) and hosts(5) have it.
 */
#ifndef SG_SANDBOX_RESOLVER_FILES_H
#define SG_SANDBOX_RESOLVER_FILES_H

#include "base/span.h"
#include "gate/gate.h"

/*
 * Fills servers, timeout and tries of c. Without a usable nameserver line the server is 127.0.0.1,
 * as resolv.conf(5) says. Addresses with a zone ("fe80::1%eth0") are passed over.
 */
void resolver_files_read_resolv(struct span text, struct resolver_config *c);

/*
 * Replaces c->hosts (HOST_NAMES_MAX at most, the first ones stay). The array belongs to c; free
 * c->hosts. 0 or -ENOMEM with c unchanged.
 */
int resolver_files_read_hosts(struct span text, struct resolver_config *c) sg_must_check;

bool resolver_config_equal(const struct resolver_config *a, const struct resolver_config *b);

#endif
