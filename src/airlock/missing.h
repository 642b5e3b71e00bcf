/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing: what a person is told when the machine lacks something an airlock needs.
 */
#ifndef SG_AIRLOCK_MISSING_H
#define SG_AIRLOCK_MISSING_H

#include "base/err.h"

/* What of the machine's settings tells one cause of EPERM from another; -1: no such setting. */
struct missing_facts {
	long unprivileged_userns_clone;
	long apparmor_restrict_userns;
};

struct missing_facts missing_read_facts(void);

/* Each fills the message from the errno (positive) that the kernel gave, and returns -1. */
int missing_userns(const struct missing_facts *f, int error, struct err *e);
int missing_netns(const struct missing_facts *f, int error, struct err *e);
int missing_tun(int error, struct err *e);
/* A request by rtnetlink failed; `doing` is the queue's words for it. */
int missing_link(const char *doing, int error, struct err *e);

#endif
