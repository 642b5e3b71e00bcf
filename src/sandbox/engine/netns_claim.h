/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns_claim: which network namespaces are a sandbox's, so that none gets two gates.
 *
 * In the folder of each sandbox that runs (runtime_dir.h) a link says "DEV:INO" of its namespace,
 * another that of its airlock, where the supervisor may see it. The number of a namespace is not
 * given out again while the supervisor holds it.
 */
#ifndef SG_SANDBOX_NETNS_CLAIM_H
#define SG_SANDBOX_NETNS_CLAIM_H

#include "sandbox/runtime_dir.h"

#define NETNS_CLAIM_SANDBOX "netns"
#define NETNS_CLAIM_AIRLOCK "airlock"

/* What cannot be noted is not noted: then it is found by nobody, and the kernel's rights decide. */
void netns_claim_note(const struct runtime_dir *d, int netns);
void netns_claim_note_airlock(const struct runtime_dir *d, pid_t keeper);

/*
 * After it was noted: 0 when it is no other sandbox's of this person, -1 with the message. Of two
 * at the same moment both may be refused.
 */
int netns_claim_check(const struct runtime_dir *d, int netns, struct err *e) sg_must_check;

/* -1 with the message: the namespace is that sandbox's. */
int netns_claim_refuse(const char *name, struct err *e);

/*
 * The sandbox of this person that a namespace belongs to: 1 and its name, 0 when it is none's, -1
 * with the message.
 */
int netns_claim_find(int netns, char name[SANDBOX_NAME_SIZE], struct err *e) sg_must_check;

#endif
