/* SPDX-License-Identifier: Apache-2.0 */
/* host_links: the host's own addresses and the subnets that its links are connected to, by
 * rtnetlink. */
#ifndef SG_SANDBOX_HOST_LINKS_H
#define SG_SANDBOX_HOST_LINKS_H

#include "policy/decide.h"

/* A descriptor that becomes readable when an address comes or goes, or -errno. */
int host_links_watch(void);

/* Reads away what a watch has announced. */
void host_links_drain(int watch);

/*
 * The subnet of each address, and the address where no subnet holds it. 0 or -errno; more than
 * HOST_PREFIXES_MAX is -E2BIG: one left out would be an address that a name may point to.
 */
int host_links_read(struct host_prefixes *out) sg_must_check;

#endif
