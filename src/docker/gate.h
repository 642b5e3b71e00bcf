/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate: what stands for an endpoint outside of this process: a sandbox, with a supervisor of its
 * own, and the end of its link. The endpoint has its name (endpoints.h), and no more of it: whether
 * it lives, the registry of sandboxes is asked each time.
 */
#ifndef SG_DOCKER_GATE_H
#define SG_DOCKER_GATE_H

#include <net/if.h>

#include "docker/endpoints.h"

/* The end of the link while it is in this network namespace: a name made from the endpoint's. */
void docker_gate_device(const struct docker_endpoint *p, char out[IFNAMSIZ]);

/*
 * Sets the name of the sandbox to be: the container's own, so that a person finds it; one made from
 * the endpoint where that is not known (""), is none of a sandbox, or is another's: of one that runs
 * or is kept, or of another endpoint in `l`, whose gate may be still in the making.
 */
void docker_gate_choose_name(const struct docker_endpoints *l, struct docker_endpoint *p,
			     const char *container);

/* Does its sandbox run? Not where that cannot be told. */
bool docker_gate_is_alive(const struct docker_endpoint *p);

/* Ends it, and waits for that. 0, also when there is none any more; or -1 with the message. */
int docker_gate_end(const struct docker_endpoint *p, struct err *e) sg_must_check;

#endif
