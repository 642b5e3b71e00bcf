/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/x509v3.h>

#include "broker/tls_link.h"
#include "broker/tls_store.h"

/* Lists of RFC 7301, 3.1: a length before each. */
static const uint8_t both[] = "\x02h2\x08http/1.1";
static const uint8_t http1[] = "\x08http/1.1";

static bool set_name(struct tls *t)
{
	X509_VERIFY_PARAM *p = SSL_get0_param(t->ssl);

	return SSL_set_tlsext_host_name(t->ssl, t->name.s) == 1 &&
	       X509_VERIFY_PARAM_set1_host(p, t->name.s, t->name.n) == 1;
}

static bool set_alpn(struct tls *t, bool offer_http2)
{
	const uint8_t *list = offer_http2 ? both : http1;
	size_t n = offer_http2 ? sizeof(both) - 1 : sizeof(http1) - 1;

	t->alpn = offer_http2 ? TLS_ALPN_HTTP2 : TLS_ALPN_HTTP1;
	return SSL_set_alpn_protos(t->ssl, list, (unsigned)n) == 0;
}

static void offer_session(struct tls *t)
{
	SSL_SESSION *session = session_cache_take(t->sessions, &t->name);

	if (!session)
		return;
	SSL_set_session(t->ssl, session);
	SSL_SESSION_free(session);
}

struct tls *tls_connect_new(struct tls_store *s, int fd, const struct name *name, bool offer_http2,
			    struct err *e)
{
	struct tls *t = tls_new(s->context, fd, TLS_TO_SERVER, name, e);

	if (!t)
		return NULL;
	t->sessions = s->sessions;
	if (!set_name(t) || !set_alpn(t, offer_http2)) {
		tls_err_set(e, "the server's name");
		tls_free(t);
		return NULL;
	}
	offer_session(t);
	SSL_set_connect_state(t->ssl);
	return t;
}
