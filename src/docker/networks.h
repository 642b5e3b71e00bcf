/* SPDX-License-Identifier: Apache-2.0 */
/*
 * networks: the networks of docker's that are sandgate's: the policy of each, and its gateways.
 *
 * The policy is read when the network is made, and kept: a file that changes later changes nothing.
 */
#ifndef SG_DOCKER_NETWORKS_H
#define SG_DOCKER_NETWORKS_H

#include "docker/message.h"

struct docker_network {
	struct docker_network *next;
	char id[DOCKER_ID_SIZE];
	char *policy; /* as JSON, validated */
	char *pcap;   /* absolute path of a folder, or NULL */
	struct docker_address gateway_v4, gateway_v6;
};

struct docker_networks {
	int folder; /* store.h */
	struct docker_network *first;
};

/* Reads what is kept. 0 or -1 with the message. */
int docker_networks_open(struct docker_networks *l, struct err *e) sg_must_check;
void docker_networks_close(struct docker_networks *l);

struct docker_network *docker_networks_find(const struct docker_networks *l, const char *id);

/*
 * Keeps one, in place of that of its id, first on disk; *n is moved from. 0 or -1 with the message,
 * and what n points to is freed all the same.
 */
int docker_networks_put(struct docker_networks *l, struct docker_network *n,
			struct err *e) sg_must_check;

/* 0, also when there is none. */
int docker_networks_remove(struct docker_networks *l, const char *id, struct err *e) sg_must_check;

#endif
