/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container: whose endpoint it is that joins. libnetwork does not say, so dockerd is asked, by its
 * API.
 */
#ifndef SG_DOCKER_CONTAINER_H
#define SG_DOCKER_CONTAINER_H

#include <jansson.h>

#include "docker/message.h"

enum { DOCKER_NAME_SIZE = 256 };

struct docker_container {
	char name[DOCKER_NAME_SIZE];
	char other[DOCKER_NAME_SIZE]; /* a network that it is on beside this one; "": none */
};

/*
 * Asks the dockerd that listens on `socket`, which must be root's. 0; 1 when it does not answer
 * within seconds, as while it starts, when it starts containers before it answers anybody; -1 with
 * the message.
 */
int docker_container_find(const char *socket, const char *network, const char *endpoint,
			  struct docker_container *out, struct err *e) sg_must_check;

/*
 * The id of a network of this driver's, by its name or its id, and its name, which is of letters,
 * digits and "_.-" alone. 0, or -1 with the message.
 */
int docker_network_find(const char *socket, const char *word, char id[DOCKER_ID_SIZE],
			char name[DOCKER_NAME_SIZE], struct err *e) sg_must_check;

/* The same from dockerd's answer. Pure. */
int docker_network_read(const json_t *network, char id[DOCKER_ID_SIZE], char name[DOCKER_NAME_SIZE],
			struct err *e) sg_must_check;

/* What docker calls a name, and no option of a command line. */
bool docker_name_valid(const char *s);

/*
 * The same from dockerd's two answers, of /networks/ID and /containers/json. Pure.
 */
int docker_container_read(const json_t *network, const json_t *containers, const char *endpoint,
			  struct docker_container *out, struct err *e) sg_must_check;

#endif
