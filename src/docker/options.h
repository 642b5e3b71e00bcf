/* SPDX-License-Identifier: Apache-2.0 */
/* options: what `docker network create -d sandgate -o KEY=VALUE` may say. Pure. */
#ifndef SG_DOCKER_OPTIONS_H
#define SG_DOCKER_OPTIONS_H

#include "docker/message.h"

/* Borrowed from the message; NULL: not given. */
struct docker_network_options {
	const char *policy; /* a preset, or the absolute path of a policy file */
	const char *allow, *deny, *only;
	const char *pcap; /* absolute path of a folder */
};

/* 0, or -1 with the message: which is unknown, with the nearest that there is. */
int docker_network_options_read(const struct docker_message *m, struct docker_network_options *out,
				struct err *e) sg_must_check;

#endif
