/* SPDX-License-Identifier: Apache-2.0 */
/* container_pid: which process a container engine has started as a container's first. */
#ifndef SG_CLI_CONTAINER_PID_H
#define SG_CLI_CONTAINER_PID_H

#include <sys/types.h>

#include "base/err.h"
#include "base/span.h"

/*
 * Asks podman and docker, those that are there, for a container by its name or id, or the beginning of
 * one. *engine is the one that knows it. -1 with the message: it does not run, none knows it, or both
 * do.
 */
pid_t container_pid_find(const char *container, const char **engine, struct err *e);

/* A name or id as the engines allow them: nothing that they could take for an option. */
bool container_pid_is_name(const char *container);

/* The number in what `inspect --format {{.State.Pid}}` prints; pure. -1: it is none. */
pid_t container_pid_parse(struct span said);

#endif
