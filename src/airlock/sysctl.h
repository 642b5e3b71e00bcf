/* SPDX-License-Identifier: Apache-2.0 */
/* sysctl: settings of one network namespace. */
#ifndef SG_AIRLOCK_SYSCTL_H
#define SG_AIRLOCK_SYSCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Writes the airlock's, or the sandbox's, settings in the caller's network namespace. 0 or -1. */
int sysctl_set_airlock(bool v6, struct err *e) sg_must_check;
int sysctl_set_sandbox(bool v6, gid_t gid, struct err *e) sg_must_check;

/* Low ports need no privilege from now on, for the gate's DHCP server. 0 or -1. */
int sysctl_open_low_ports(struct err *e) sg_must_check;

/*
 * Container engines turn IPv6 off in namespaces. Turns it on for this device, without an address of
 * its own. False when that cannot be.
 */
bool sysctl_open_ipv6(const char *device);

/* The integer in /proc/sys/`name`, or `absent` when there is no such setting. */
long sysctl_read(const char *name, long absent);

#endif
