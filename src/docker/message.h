/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: what dockerd asks a remote network driver, taken apart.
 *
 * Pure. The bodies are JSON, as libnetwork's drivers/remote/api has them. Newer dockerds add keys,
 * so one that is not known is passed over; one that is known has to have its form. What is not
 * asked for by a call stays empty.
 */
#ifndef SG_DOCKER_MESSAGE_H
#define SG_DOCKER_MESSAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/span.h"

enum {
	DOCKER_ID_MAX = 64, /* libnetwork's are 64 hexadecimal digits */
	DOCKER_ID_SIZE = DOCKER_ID_MAX + 1,
	DOCKER_OPTIONS_MAX = 32,
	DOCKER_PORTS_MAX = 1024, /* published by one container */
	DOCKER_BODY_MAX = 1 << 20,
};

/* An address with the length of its prefix, in its own family: 10.0.0.2/24. */
struct docker_address {
	bool given;
	struct addr addr;
	uint8_t bits;
};

struct docker_option {
	char *key, *value; /* of `docker network create -o KEY=VALUE` */
};

struct docker_port {
	uint8_t proto;	  /* as in an IP header: 6, 17, 132 */
	uint16_t inside;  /* port of the container */
	bool any_host;	  /* no HostIP was given: both families */
	struct addr host; /* else that */
	uint16_t host_low,
		host_high; /* 0 and 0: any that is free; else the first free one of these */
};

struct docker_message {
	char network[DOCKER_ID_SIZE], endpoint[DOCKER_ID_SIZE];
	char key[PATH_MAX];	      /* path of the sandbox's network namespace, absolute */
	struct docker_address v4, v6; /* of the endpoint */
	struct docker_address gateway_v4, gateway_v6; /* of the network */
	bool has_mac;
	uint8_t mac[6];
	bool internal; /* docker network create --internal */
	struct docker_option options[DOCKER_OPTIONS_MAX];
	size_t n_options;
	struct docker_port *ports;
	size_t n_ports;
};

/*
 * An empty body is an empty message. On an error there is nothing to free. 0 or -1 with the
 * message.
 */
int docker_message_parse(struct span body, struct docker_message *out, struct err *e) sg_must_check;
void docker_message_free(struct docker_message *m);

/* Letters and digits, up to DOCKER_ID_MAX: fit for the name of a file. */
bool docker_id_valid(const char *s);

/* "10.0.0.2/24", the address as it stands. */
bool docker_address_parse(const char *s, struct docker_address *out);
enum { DOCKER_ADDRESS_TEXT_MAX = ADDR_TEXT_MAX + 4 };
char *docker_address_format(const struct docker_address *a, char out[DOCKER_ADDRESS_TEXT_MAX]);

enum { DOCKER_MAC_TEXT_SIZE = 18 };
bool docker_mac_parse(const char *s, uint8_t out[6]);
char *docker_mac_format(const uint8_t mac[6], char out[DOCKER_MAC_TEXT_SIZE]);

#endif
