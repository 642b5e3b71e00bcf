/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon: the dockerd that asks, looked at by way of /proc: where its network is, and whom it asks
 * the names that containers ask it.
 */
#ifndef SG_DOCKER_DAEMON_H
#define SG_DOCKER_DAEMON_H

#include <sys/types.h>

#include "base/err.h"

/*
 * 0 when containers of this dockerd can be put behind a gate. -1 with the message when it has
 * another network than this process, or when its name server for containers would ask servers on
 * the host's loopback: dockerd asks those itself, in the host's network, and questions are a way
 * out that passes no gate.
 */
int docker_daemon_check(pid_t pid, struct err *e) sg_must_check;

#endif
