/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_attach: a container that asks by its annotations to be put behind a gate, before it runs.
 *
 * What is found out first, in this order; whatever cannot be held is refused:
 *
 *	its image	carries no annotation of ours (image_annotations.h)
 *	its network	its own: it is put behind a gate that ends with its first process
 *			the host's: refused
 *			that of a pod: the first container of the pod that asks puts all of it behind a
 *			gate, which ends with the process that holds the network; a later one goes on
 *			when it asks for the same policy, else it is refused
 *			that of another container: likewise, but refused when that has no gate
 *
 * Then its files, which nobody in it has seen yet: a resolv.conf where it has none, and where requests are
 * inspected the certificates of the sandbox (trust_place.h).
 */
#ifndef SG_CLI_HOOK_ATTACH_H
#define SG_CLI_HOOK_ATTACH_H

#include "sandbox/engine/oci_state.h"

/* 0 when the container may go on, -1 with the message when it may not. */
int hook_attach(const struct oci_state *s, struct err *e) sg_must_check;

#endif
