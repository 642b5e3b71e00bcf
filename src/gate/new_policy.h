/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_policy: another policy for a gate that runs (docs/protocol.md, "policy").
 *
 * All of it or nothing: until it is read, parsed and compiled the present one decides; then every
 * open flow is asked again, and the one before is freed, since nothing refers to it any more.
 */
#ifndef SG_GATE_NEW_POLICY_H
#define SG_GATE_NEW_POLICY_H

#include "gate/context.h"

/*
 * `fd` is a memfd whose contents cannot change any more, with the wire form of a policy; it stays
 * the caller's. Generations only rise. 0, or -1 with the message, and the present policy stands.
 */
int new_policy_take(struct gate *g, int fd, uint64_t generation, struct err *e) sg_must_check;

#endif
