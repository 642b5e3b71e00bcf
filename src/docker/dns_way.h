/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_way: whether dockerd asks the names of containers past the gate. Pure.
 *
 * The name server that dockerd has in a container's namespace, 127.0.0.11, passes on what it does
 * not know: from the container's namespace, where the gate answers, but to a loopback address of
 * its resolv.conf from the host's. `dns` of daemon.json, or --dns, takes the place of resolv.conf
 * and is always asked from the container's.
 */
#ifndef SG_DOCKER_DNS_WAY_H
#define SG_DOCKER_DNS_WAY_H

#include <stdbool.h>

#include "base/span.h"

/* Whether a resolv.conf names such a server, read as generously as any dockerd reads it. */
bool dns_way_has_loopback(struct span resolv_conf);

/* Of a daemon.json, and of a command line as /proc has it, each word ended by a NUL. */
bool dns_way_config_has_dns(struct span daemon_json);
bool dns_way_words_have_dns(struct span words);

/* The value of --config-file in such a command line; an empty span when it is not there. */
struct span dns_way_config_file(struct span words);

#endif
