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

/*
 * Of a namespace that the sandbox has made, which is locked as well (netns_lock.h). What cannot be
 * noted is not noted: then it is found by nobody, and the kernel's rights decide.
 */
void netns_claim_note(struct runtime_dir *d, int netns);
void netns_claim_note_airlock(struct runtime_dir *d, pid_t keeper);

/*
 * Notes it, when it is no other sandbox's of this person: of any number at the same moment the first
 * has it, and every other is refused with its name. And locks it, when it is no other person's: their
 * registry is another (netns_lock.h). 0, or -1 with the message and nothing noted.
 */
int netns_claim_take(struct runtime_dir *d, int netns, struct err *e) sg_must_check;

/* -1 with the message: the namespace is that sandbox's. */
int netns_claim_refuse(const char *name, struct err *e);

/*
 * The sandbox of this person that a namespace belongs to: 1 and its name, 0 when it is none's, -1
 * with the message.
 */
int netns_claim_find(int netns, char name[SANDBOX_NAME_SIZE], struct err *e) sg_must_check;

#endif
