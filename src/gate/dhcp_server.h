/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dhcp_server: gives the one virtual machine of an airlock its IPv4 address, by DHCP (dhcp.h). The
 * address is always the same, so nothing is kept of who asked. Others than the machine's network
 * card, and what is no message of a client, are refused without a word and counted as link noise.
 */
#ifndef SG_GATE_DHCP_SERVER_H
#define SG_GATE_DHCP_SERVER_H

#include "gate/context.h"
#include "gate/gate.h"

struct dhcp_server;

enum { DHCP_LEASE_S = 7 * 24 * 3600 };

/* Owns s->dhcp from here on. NULL without memory. */
struct dhcp_server *dhcp_server_new(struct gate *g, const struct gate_setup *s);

extern const int dhcp_server_syscalls[];

#endif
