/* SPDX-License-Identifier: Apache-2.0 */
/* ports: which addresses and ports of the host a container's published ports become. */
#ifndef SG_DOCKER_PORTS_H
#define SG_DOCKER_PORTS_H

#include "docker/message.h"
#include "sandbox/attach.h"

/*
 * As docker has it: without an address both families, of a range the first that is free, without a
 * port any that is free. TCP alone; what else is asked for is refused. *out has *n entries, is the
 * caller's, and NULL for none. A port is free when it is looked at: that it is when the supervisor
 * listens is for the supervisor to say. 0 or -1 with the message.
 */
int docker_ports_choose(const struct docker_port *ports, size_t n_ports,
			struct attach_publish **out, size_t *n, struct err *e) sg_must_check;

#endif
