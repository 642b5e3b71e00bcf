/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_rig: a certificate authority of a test, peers made of plain OpenSSL, and both ends of a
 * connection driven in turn.
 */
#ifndef SG_TESTS_TLS_RIG_H
#define SG_TESTS_TLS_RIG_H

#include <openssl/ssl.h>

#include "broker/tls.h"

struct pki {
	EVP_PKEY *key;
	X509 *certificate;
	char *pem; /* of the certificate */
};

/* What a certificate is like; zeroes: a good one. */
struct spec {
	const char *names;	 /* "DNS:a.example,DNS:b.example"; NULL: none */
	const char *common_name; /* NULL: "rig" */
	int from_days, to_days;	 /* from today; 0: a day ago, in ten days */
	int to_seconds;		 /* from now, instead of to_days */
	const char *usage;	 /* extended key usage; NULL: serverAuth */
	bool self_signed, authority;
	EVP_PKEY *key; /* NULL: a new P-256 */
};

struct issued {
	EVP_PKEY *key;
	X509 *certificate;
};

struct pki pki_new(void);
void pki_write_pem(struct pki *p);
void pki_free(struct pki *p);
struct issued pki_issue(const struct pki *p, struct spec spec);
void issued_free(struct issued *i);

/* One connection: ours, and a peer of plain OpenSSL, on the two ends of a socket pair or of a
 * relay. */
struct pair {
	int fds[2];
	struct tls *ours;
	SSL *peer;
};

/* Non-blocking. */
void pair_open(struct pair *p);
void pair_close(struct pair *p);

/* A context of a server with that certificate; TLS 1.2 and 1.3, whatever the security level. */
SSL_CTX *peer_server(const struct issued *i);
/* A context of a client that trusts the PEM. */
SSL_CTX *peer_client(struct span pem);
void peer_start(struct pair *p, SSL_CTX *context, const char *server_name);

/* Steps both until ours is done or failed; the peer goes on as far as it can. */
enum tls_result pair_handshake(struct pair *p);

struct name name_of(const char *s);

#endif
