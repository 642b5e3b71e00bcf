/* SPDX-License-Identifier: Apache-2.0 */
/* join: a container gets its gate, and loses it. */
#ifndef SG_DOCKER_JOIN_H
#define SG_DOCKER_JOIN_H

#include "docker/driver.h"

/*
 * NetworkDriver.Join for an endpoint that is not busy: makes the gate, ready before the answer,
 * with the end of its link in this network namespace, from which dockerd moves it. Takes the ports
 * of m. Answers the call, now or later.
 */
void docker_join(struct docker_driver *d, struct docker_endpoint *p, struct docker_message *m,
		 struct docker_call *c);

/* Leave, and with `forget` DeleteEndpoint: ends the gate. Answers the call, now or later. */
void docker_leave(struct docker_driver *d, struct docker_endpoint *p, bool forget,
		  struct docker_call *c);

#endif
