/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoints: what docker made of one container on one network of sandgate's.
 *
 * Theory of operation.
 *
 *	MADE	  CreateEndpoint	it has addresses, and no sandbox
 *	JOINING	  Join has come		a sandbox of the name may be there, or half of one
 *	JOINED	  Join was answered	the sandbox is there, a process of its own
 *	LEAVING	  Leave has come	the sandbox is being ended
 *
 * The state is on disk before what it says is begun, so that a driver that was killed at any moment
 * leaves nothing that the next one does not know of. From JOINING and LEAVING the way is back to
 * MADE, by ending the sandbox; in both a process of the driver's is at work, and no other call
 * for the endpoint is taken.
 */
#ifndef SG_DOCKER_ENDPOINTS_H
#define SG_DOCKER_ENDPOINTS_H

#include <jansson.h>

#include "docker/message.h"
#include "sandbox/sandbox_name.h"

enum docker_endpoint_state { ENDPOINT_MADE, ENDPOINT_JOINING, ENDPOINT_JOINED, ENDPOINT_LEAVING };

struct docker_endpoint {
	struct docker_endpoint *next;
	enum docker_endpoint_state state;
	bool busy; /* a process of this driver's is at work on it; not kept */
	char id[DOCKER_ID_SIZE], network[DOCKER_ID_SIZE];
	struct docker_address v4, v6;
	uint8_t mac[6];
	char sandbox[SANDBOX_NAME_SIZE]; /* "" in MADE */
	char key[PATH_MAX];		 /* of its network namespace; "" in MADE */
	json_t *ports;			 /* published, as docker's port map has them; NULL: none */
};

struct docker_endpoints {
	int folder; /* store.h */
	struct docker_endpoint *first;
};

int docker_endpoints_open(struct docker_endpoints *l, struct err *e) sg_must_check;
void docker_endpoints_close(struct docker_endpoints *l);

struct docker_endpoint *docker_endpoints_find(const struct docker_endpoints *l, const char *id);

/* A new one in the table, ENDPOINT_MADE, not on disk yet. NULL with the message. */
struct docker_endpoint *docker_endpoints_add(struct docker_endpoints *l, const char *id,
					     struct err *e);

/* Writes what it is now. */
int docker_endpoints_keep(struct docker_endpoints *l, const struct docker_endpoint *p,
			  struct err *e) sg_must_check;

/* Sets the state with what belongs to it, and writes it. 0 or -1 with the message. */
int docker_endpoints_set(struct docker_endpoints *l, struct docker_endpoint *p,
			 enum docker_endpoint_state state, struct err *e) sg_must_check;

/* Takes it away, on disk first. */
int docker_endpoints_remove(struct docker_endpoints *l, struct docker_endpoint *p,
			    struct err *e) sg_must_check;

#endif
