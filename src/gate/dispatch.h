/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch: each packet from the tun device to the part that it is for. */
#ifndef SG_GATE_DISPATCH_H
#define SG_GATE_DISPATCH_H

#include "gate/context.h"
#include "gate/dns_server.h"

/* A tun_packet_fn with the gate as context. */
void dispatch_packet(void *ctx, struct span octets);

/* A tun_run_end_fn with the gate as context. */
void dispatch_run_end(void *ctx);

/* A dns_reply_fn with the gate as context. */
void dispatch_reply(void *ctx, const struct dns_client *client, enum reason why,
		    struct span message);

#endif
