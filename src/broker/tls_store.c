/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/tls_store.h"

#include <stdlib.h>

#include <openssl/x509v3.h>

#include "broker/tls_link.h"

static int on_verified(int ok, X509_STORE_CTX *verification)
{
	const SSL *ssl =
		X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());

	if (!ok)
		tls_note_certificate(tls_of(ssl), verification);
	return ok;
}

/* 1: the reference is taken over. */
static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls *t = tls_of(ssl);

	session_cache_put(t->sessions, &t->name, session);
	return 1;
}

static void set_verification(SSL_CTX *c)
{
	X509_VERIFY_PARAM *p = SSL_CTX_get0_param(c);

	SSL_CTX_set_verify(c, SSL_VERIFY_PEER, on_verified);
	/* Whatever the host trusts is an end of a chain, as it is for curl and Go: administrators
	 * install authorities that are not self-signed. */
	X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
	/* RFC 9525, 6.3: names are those of subjectAltName, a wildcard is a whole label. */
	X509_VERIFY_PARAM_set_hostflags(p, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
						   X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
}

struct tls_store *tls_store_new(struct span bundle, struct err *e)
{
	struct tls_store *s;

	if (tls_start(e) != 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->sessions = session_cache_new())) {
		err_set(e, "cannot start TLS: out of memory");
		goto fail;
	}
	s->context = tls_context_new(TLS_TO_SERVER, e);
	if (!s->context)
		goto fail;
	s->anchors = trust_anchors_new(bundle, SSL_CTX_get_cert_store(s->context), e);
	if (!s->anchors)
		goto fail;
	set_verification(s->context);
	SSL_CTX_set_session_cache_mode(s->context,
				       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(s->context, on_new_session);
	return s;
fail:
	tls_store_free(s);
	return NULL;
}

void tls_store_free(struct tls_store *s)
{
	if (!s)
		return;
	SSL_CTX_free(s->context);
	trust_anchors_free(s->anchors);
	session_cache_free(s->sessions);
	free(s);
}
