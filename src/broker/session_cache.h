/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_cache: TLS sessions with real servers, to be resumed by later connections to the same
 * name.
 *
 * A session stands for a certificate that was verified for its name, so it is never offered for
 * another one, and not after the certificate has expired. TLS 1.3 sessions are used once (RFC
 * 8446, C.4).
 */
#ifndef SG_BROKER_SESSION_CACHE_H
#define SG_BROKER_SESSION_CACHE_H

#include <openssl/ssl.h>

#include "base/name.h"

struct session_cache;

enum { SESSION_CACHE_NAMES = 256, SESSION_CACHE_EACH = 4 };

struct session_cache *session_cache_new(void); /* NULL: no memory */
void session_cache_free(struct session_cache *c);

/* Takes over the reference. The oldest of the name makes room; without memory the session is
 * dropped. */
void session_cache_put(struct session_cache *c, const struct name *name, SSL_SESSION *session);

/* The newest that may be resumed; the reference is the caller's. NULL: none. */
SSL_SESSION *session_cache_take(struct session_cache *c, const struct name *name);

#endif
