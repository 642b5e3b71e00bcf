/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver: docker's remote network driver: each container of a network of its own kind stands behind
 * a gate of its own.
 *
 *	driver.c	the process: its socket, its loop, what it finds when it starts
 *	requests.c	the table of what dockerd asks
 *	join.c		a container's gate is made, and ended
 *	gate.c		the sandbox and the device that stand for an endpoint
 *	recover.c	what is left over, when a driver or a dockerd begins
 *	networks.c, endpoints.c, store.c	what is known, and kept on disk
 *	message.c, options.c, dns_way.c		what is read; pure
 *	container.c, daemon.c	what dockerd has to be asked, and looked at for
 *	http.c, job.c	how requests come in, and work that waits is done
 *
 * The driver holds no part of a gate: each is a supervisor, a process of its own, that a driver
 * which ends or is replaced leaves as it is.
 */
#ifndef SG_DOCKER_DRIVER_H
#define SG_DOCKER_DRIVER_H

#include "docker/endpoints.h"
#include "docker/http.h"
#include "docker/networks.h"
#include "docker/options.h"

#define DOCKER_PLUGIN_SOCKET "/run/docker/plugins/sandgate.sock"
#define DOCKER_API_SOCKET    "/run/docker.sock"

/* A policy from the options of a network: as JSON, to free. 0 or -1 with the message. */
typedef int docker_policy_fn(const struct docker_network_options *o, char **json, struct err *e);

struct docker_driver_config {
	const char *socket;	   /* where dockerd finds the driver */
	const char *docker_socket; /* where dockerd listens */
	docker_policy_fn *make_policy;
};

struct docker_driver {
	const struct docker_driver_config *config;
	struct loop *loop;
	struct docker_http *http;
	struct docker_networks networks;
	struct docker_endpoints endpoints;
};

/* Serves until SIGTERM or SIGINT. 0, or -1 with the message. */
int docker_driver_run(const struct docker_driver_config *c, struct err *e) sg_must_check;

/* A line on standard error. */
void docker_driver_say(const char *fmt, ...) sg_printf(1, 2);

/* docker_http_fn with the driver as context (requests.c). */
void docker_requests_answer(void *driver, struct docker_call *c);

/* {"Err": "sandgate: MESSAGE"}. */
json_t *docker_refusal(const struct err *e);

#endif
