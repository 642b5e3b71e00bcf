/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way_out: what else leads out of a network namespace than the sandbox's end of the link.
 *
 * A device leads out, whatever its addresses: all but lo, and the tunnel devices that the kernel
 * puts into every namespace (tunl0, sit0, ...) while they are down. A route leads out when it goes by
 * another device, or says more than a device (encapsulation, several next hops).
 */
#ifndef SG_AIRLOCK_WAY_OUT_H
#define SG_AIRLOCK_WAY_OUT_H

#include "airlock/netlink.h"
#include "base/err.h"

/*
 * `n` is a queue in that namespace. Takes every such device away but the one with the index `link`
 * (0: none). 0, or -1 naming what stays.
 */
int way_out_remove(struct nl *n, uint32_t link, struct err *e) sg_must_check;

/* Their names, as plain text with ", " between; "" when there is none. 0 or -1. */
int way_out_list(struct nl *n, uint32_t link, char *out, size_t size, struct err *e) sg_must_check;

/* 0 when only the device with the index `link` leads out (0: none), or -1 naming what else does. */
int way_out_verify(struct nl *n, uint32_t link, struct err *e) sg_must_check;

#endif
