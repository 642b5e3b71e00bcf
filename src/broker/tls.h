/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: TLS on a connected, non-blocking socket, towards the sandbox's client (with a certificate that the sandbox's own
 * authority made) and towards the real server (verified against the host's trust store, name included).
 */
#ifndef SG_BROKER_TLS_H
#define SG_BROKER_TLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/name.h"
#include "base/span.h"

enum tls_result { TLS_DONE, TLS_WANT_READ, TLS_WANT_WRITE, TLS_CLOSED, TLS_FAILED };
enum tls_alpn { TLS_ALPN_NONE, TLS_ALPN_HTTP1, TLS_ALPN_HTTP2 };

struct tls_store; /* the host's trust, session caches; one for the broker */
struct authority; /* the sandbox's own CA and its leaves; one for the broker */
struct tls;	  /* one connection */

/* Reads the host's bundle (PEM), which the supervisor read: the broker opens no file. */
struct tls_store *tls_store_new(struct span bundle, struct err *e);
void tls_store_free(struct tls_store *s);

/*
 * A new CA: ECDSA P-256, its key in locked memory, valid from an hour ago for `days`; name-constrained to `names` (with what is
 * below wildcards) unless that is empty. Leaves are made when asked for, and cached.
 */
struct authority *authority_new(const char *sandbox, char *const *names, unsigned days,
				struct err *e);
void authority_free(struct authority *a);
struct span authority_certificate(const struct authority *a); /* PEM */

/* Towards the server: offers `alpn` in this order of preference. The descriptor is the caller's. */
struct tls *tls_connect_new(struct tls_store *s, int fd, const struct name *name, bool offer_http2,
			    struct err *e);
/* Towards the client: its hello is read from fd; the certificate is for `name`; exactly this ALPN is agreed to. */
struct tls *tls_accept_new(struct authority *a, int fd, const struct name *name, enum tls_alpn alpn,
			   struct err *e);
void tls_free(struct tls *t);

/* On TLS_FAILED tls_why() is a sentence piece: "its certificate is for another name", ... */
enum tls_result tls_handshake(struct tls *t);
enum tls_result tls_read(struct tls *t, struct buf *into);
enum tls_result tls_write(struct tls *t, struct span octets, size_t *written);
enum tls_result tls_close(struct tls *t); /* close_notify; does not close the descriptor */
enum tls_alpn tls_alpn(const struct tls *t);
const char *tls_why(const struct tls *t);
/* Was the end told by close_notify? A cut is no end of an answer without a length. */
bool tls_ended_orderly(const struct tls *t);

#endif
