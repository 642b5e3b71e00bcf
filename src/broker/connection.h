/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: one connection that the gate handed over: the client's socket and the dialled server's, TLS on both, a codec on
 * each, and the exchanges between them. exchange.c judges each request, applies credentials, and answers refusals.
 *
 *	server TLS handshake, verified → client TLS handshake with the ALPN the server agreed to → codecs → exchanges → end
 *
 * Nothing is promised to the client before the server was verified.
 */
#ifndef SG_BROKER_CONNECTION_H
#define SG_BROKER_CONNECTION_H

#include "base/addr.h"
#include "base/name.h"

struct broker;

/* What comes with a connection from the gate (docs/protocol.md). Both descriptors are the broker's from here on. */
struct handover {
	int client, server;
	struct name name; /* judged by the gate: the server name inside, or that of CONNECT */
	struct endpoint dst;
	bool tls; /* false: plain HTTP */
};

/* 0, or -errno: both descriptors are closed then. */
int connection_take(struct broker *b, const struct handover *h);

#endif
