/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes: the static routes of a container: what its network's prefix would reach directly goes to
 * the gate as well. Without them an address of a neighbour would be asked for on the link, where
 * nobody answers, for seconds; so it is refused at once. Pure.
 */
#ifndef SG_DOCKER_ROUTES_H
#define SG_DOCKER_ROUTES_H

#include <jansson.h>
#include <stdbool.h>

#include "docker/message.h"

/*
 * Adds to `list`, in the order in which dockerd makes them: the gateway on the link, and by it the
 * two halves of its prefix. A prefix of at most two addresses needs none. False without memory.
 */
bool docker_routes_add(json_t *list, const struct docker_address *gateway);

#endif
