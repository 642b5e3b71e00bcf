/* SPDX-License-Identifier: Apache-2.0 */
/* container_trust: a container that a sandbox was put before trusts that sandbox's authority. */
#ifndef SG_CLI_CONTAINER_TRUST_H
#define SG_CLI_CONTAINER_TRUST_H

#include "cli/run_policy.h"
#include "sandbox/files/trust_place.h"

/* Has programs inside anything to trust: are there requests that are inspected? */
bool container_trust_is_wanted(const struct run_policy *p, const struct sources *s);

/* The certificates of a sandbox that lives, as trust_place() has it. */
int container_trust_place(const char *sandbox, const struct trust_target *t,
			  struct trust_placed *out, struct err *e) sg_must_check;

/*
 * The same of one that was attached while its programs run, with what is left to do on standard error;
 * a failure is said, and is none of the gate's. `process` is a pidfd, or -1: nobody's files are known.
 */
void container_trust_attach(const char *sandbox, int process);

#endif
