/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_link: what the files of tls.h share.
 */
#ifndef SG_BROKER_TLS_LINK_H
#define SG_BROKER_TLS_LINK_H

#include <openssl/ssl.h>

#include "broker/tls.h"

enum tls_role { TLS_TO_CLIENT, TLS_TO_SERVER };
enum { TLS_WHY_MAX = 160 };

struct session_cache;

struct tls {
	SSL *ssl;
	enum tls_role role;
	struct session_cache *sessions; /* the store's; NULL towards the client */
	struct name name;
	enum tls_alpn alpn; /* towards the client: what is to be agreed to; then what was */
	bool established;   /* the handshake is done */
	bool writing;	    /* a part of a record waits for the socket */
	bool closed;	    /* our close_notify is on its way */
	bool orderly;	    /* close_notify has come */
	enum tls_result
		end; /* TLS_CLOSED or TLS_FAILED once the peer's side is so; else TLS_DONE */
	char why[TLS_WHY_MAX]; /* the first reason stays */
};

/*
 * Everything of libssl and libcrypto that would be read from files or set up later is read and
 * set up, and keys go to locked memory from here on. The host's openssl.cnf counts for nothing:
 * it may load code. 0 or -1.
 */
int tls_start(struct err *e) sg_must_check;

/* With all that both roles have in common. NULL with the error. */
SSL_CTX *tls_context_new(enum tls_role role, struct err *e);

/* A connection in the handshake. NULL: no memory; the error says so. */
struct tls *tls_new(SSL_CTX *context, int fd, enum tls_role role, const struct name *name,
		    struct err *e);
struct tls *tls_of(const SSL *ssl);

/* The subject of a reason. */
static inline const char *tls_peer(const struct tls *t)
{
	return t->role == TLS_TO_SERVER ? "it" : "the client";
}

/* "cannot start TLS: what: OpenSSL's reason". Returns -1. */
int tls_err_set(struct err *e, const char *what);

/* tls_why.c: notes a reason, unless one is noted. */
void tls_note(struct tls *t, const char *fmt, ...) sg_printf(2, 3);
void tls_note_certificate(struct tls *t, X509_STORE_CTX *verification);
/* What the last step of OpenSSL failed with. `ssl_error` is of SSL_get_error(), `error` the
 * errno after the step. */
void tls_note_failure(struct tls *t, int ssl_error, int error);

/* tls_accept.c: the context of all connections to clients of one authority. */
SSL_CTX *tls_accept_context_new(struct err *e);

#endif
