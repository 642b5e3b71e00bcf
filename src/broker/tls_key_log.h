/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_key_log: the secrets of connections with clients, for a capture that was asked for with them
 * (SSLKEYLOGFILE's lines, draft-ietf-tls-keylogfile). What the broker says to servers stays closed.
 *
 * OpenSSL's callback brings no context of the caller's, so the descriptor is the process's.
 */
#ifndef SG_BROKER_TLS_KEY_LOG_H
#define SG_BROKER_TLS_KEY_LOG_H

#include <openssl/ssl.h>

/* Takes over one end of a SOCK_SEQPACKET pair: a message a line, never waiting. */
void tls_key_log_follow(int fd);

/* For the next connection: while nobody listens no secret is made into text. */
void tls_key_log_prepare(SSL_CTX *c);

#endif
