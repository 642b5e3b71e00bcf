/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: TLS 1.2 and 1.3 on a connected, non-blocking socket, towards the sandbox's client (with a
 * certificate that the sandbox's own authority made) and towards the real server (verified
 * against the host's trust store, name included).
 *
 * No compression, no renegotiation, no early data. Whether a certificate was revoked is not
 * asked: that would be a connection to somebody else, on behalf of the sandbox, that no policy
 * lists.
 *
 * The process ignores SIGPIPE. A step that says TLS_WANT_READ or TLS_WANT_WRITE wants to be
 * called again when the socket is so; either may come from any step.
 */
#ifndef SG_BROKER_TLS_H
#define SG_BROKER_TLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/name.h"
#include "base/span.h"
#include "broker/authority.h"

enum tls_result { TLS_DONE, TLS_WANT_READ, TLS_WANT_WRITE, TLS_CLOSED, TLS_FAILED };
enum tls_alpn { TLS_ALPN_NONE, TLS_ALPN_HTTP1, TLS_ALPN_HTTP2 };

struct tls_store; /* the host's trust, and sessions to resume; one for the broker */
struct tls;	  /* one connection */

/* Reads the host's bundle (PEM), which the supervisor read: the broker opens no file. */
struct tls_store *tls_store_new(struct span bundle, struct err *e);
void tls_store_free(struct tls_store *s); /* after its connections */

/* Towards the server: http/1.1 is offered, and h2 before it. The descriptor is the caller's. */
struct tls *tls_connect_new(struct tls_store *s, int fd, const struct name *name, bool offer_http2,
			    struct err *e);
/*
 * Towards the client: its hello is read from fd. The certificate is for `name`, and a hello that
 * asks for another one is refused. A client that offers protocols gets exactly `alpn`, or is
 * refused when it does not offer that; with TLS_ALPN_NONE its offer is passed over. NULL also
 * when the authority has no certificate for the name (it has expired, or is for other names):
 * `e` is a sentence then.
 */
struct tls *tls_accept_new(struct authority *a, int fd, const struct name *name, enum tls_alpn alpn,
			   struct err *e);
void tls_free(struct tls *t);

/* TLS_DONE, TLS_WANT_* or TLS_FAILED. Nothing may be read or written before TLS_DONE. */
enum tls_result tls_handshake(struct tls *t);
/*
 * `into` has room. TLS_DONE: octets were appended; there may be more, also when the socket has
 * none, so read until TLS_WANT_READ or ask tls_has_more() before waiting. TLS_CLOSED: the peer
 * has ended; see tls_ended_orderly().
 */
enum tls_result tls_read(struct tls *t, struct buf *into);
bool tls_has_more(const struct tls *t);
/*
 * `*written` of the octets are on their way, all of them with TLS_DONE. After TLS_WANT_* the
 * rest must come again as it was, at any address, and may have grown: a part of it may be sealed
 * already.
 */
enum tls_result tls_write(struct tls *t, struct span octets, size_t *written);
/*
 * Sends close_notify; the other direction stays open, and so does the descriptor. TLS_FAILED
 * when it cannot be sent: the handshake was not done, a write is under way, or the connection
 * has failed. Close the socket then.
 */
enum tls_result tls_close(struct tls *t);
/* What was agreed to; after the handshake. */
enum tls_alpn tls_alpn(const struct tls *t);
/* Was an earlier session resumed? */
bool tls_resumed(const struct tls *t);
/*
 * After TLS_FAILED, and after TLS_CLOSED without a good order: a sentence piece, of the server
 * "its certificate expired on 2026-01-31", of the client "the client does not trust the
 * sandbox's authority". Without control characters. As long as t.
 */
const char *tls_why(const struct tls *t);
/* After a handshake with the server that failed: was it the certificate? */
bool tls_is_distrusted(const struct tls *t);
/* The caller has waited long enough for the handshake; tls_why() says so from here on. */
void tls_give_up(struct tls *t);
/* Was the end told by close_notify? A cut is no end of an answer without a length. */
bool tls_ended_orderly(const struct tls *t);

#endif
