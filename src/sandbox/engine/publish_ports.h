/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish_ports: the host's side of --publish: listeners on 127.0.0.1 and ::1, or, for what was
 * attached, wherever they were asked for; for the gate to accept on.
 */
#ifndef SG_SANDBOX_PUBLISH_PORTS_H
#define SG_SANDBOX_PUBLISH_PORTS_H

#include <jansson.h>

#include "gate/gate.h"
#include "sandbox/run.h"

/*
 * Listens on every host port of the policy, and of what is attached. *out has *n entries and is freed with
 * publish_ports_close(). The listener on ::1 is left out where the host has no IPv6. 0, or -1 with
 * the message and nothing open.
 */
int publish_ports_open(const struct run_options *o, struct gate_publish **out, size_t *n,
		       struct err *e) sg_must_check;
/* What listens: a list of objects with `host`, `port` and `sandbox`, the port inside. */
json_t *publish_ports_json(const struct gate_publish *v, size_t n);

void publish_ports_close(struct gate_publish *v, size_t n);

#endif
