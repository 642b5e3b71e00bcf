/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: one connection that the gate handed over: the client's socket and the dialled
 * server's, TLS on both, a codec on each, and the exchanges between them. exchange.c judges each
 * request, applies credentials, and answers refusals.
 *
 *	server TLS handshake, verified → client TLS handshake with the ALPN the server agreed to →
 *	codecs → exchanges → end
 *
 * Nothing is promised to the client before the server was verified. One whose server cannot be
 * trusted or reached is told so in answers, and nothing is sent to that server.
 */
#ifndef SG_BROKER_CONNECTION_H
#define SG_BROKER_CONNECTION_H

#include "base/addr.h"
#include "base/name.h"
#include "io/gate_message.h"

struct broker;

/* Bits of handover.alpn: what the client's hello offers (RFC 7301). */
enum { HANDOVER_HTTP2 = 1, HANDOVER_HTTP1 = 2 };

/*
 * What comes with a connection from the gate (docs/protocol.md). Both descriptors are the broker's
 * from here on.
 */
struct handover {
	int client, server;
	uint32_t connection; /* what the gate calls it */
	uint64_t may_read;   /* octets of the client, before the gate says more */
	/* Judged by the gate: the server name inside, or that of CONNECT; n is 0 without one. */
	struct name name;
	struct endpoint dst;
	bool tls;      /* false: plain HTTP */
	bool by_proxy; /* it came through the proxy port */
	bool absolute; /* plain HTTP: one request, in absolute form, as a proxy is asked */
	uint8_t alpn;  /* of a client that speaks TLS; 0: it offers none */
};

enum { CONNECTIONS_MAX = GATE_CONNECTIONS_MAX };

struct connections;

/* NULL: no memory. */
struct connections *connections_new(struct broker *b);
/* Resets all that are open. */
void connections_free(struct connections *all);
unsigned connections_open(const struct connections *all);

/* 0, or -errno: both descriptors are closed then, and reset. -EMFILE: there are CONNECTIONS_MAX. */
int connection_take(struct broker *b, const struct handover *h);

/* The answer to a dial: a connected socket, which is taken, or -1 and an errno. */
void connections_dialled(struct connections *all, uint32_t dial, int fd, int error);

/* What the gate calls `connection` may read so many octets of its client in all, or is reset. */
void connections_may_read(struct connections *all, uint32_t connection, uint64_t octets);
void connections_cut(struct connections *all, uint32_t connection);

/* Resets all that are open, at the end of the turn: a function of one may be under way. */
void connections_reset(struct connections *all);

/* Another policy, other credentials. */
void connections_rejudge(struct connections *all);
/* A credential may be there now. */
void connections_advance(struct connections *all);

#endif
