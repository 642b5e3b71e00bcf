/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/tls_store.h"

#include <limits.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "broker/tls_link.h"

static void free_infos(STACK_OF(X509_INFO) * infos)
{
	sk_X509_INFO_pop_free(infos, X509_INFO_free);
}

/* The certificates of a bundle. NULL with the error when a part of it cannot be read. */
static STACK_OF(X509_INFO) * read_bundle(struct span bundle, struct err *e)
{
	STACK_OF(X509_INFO) *infos = NULL;
	BIO *in = bundle.n <= INT_MAX ? BIO_new_mem_buf(bundle.p, (int)bundle.n) : NULL;

	ERR_clear_error();
	if (in)
		infos = PEM_X509_INFO_read_bio(in, NULL, NULL, NULL);
	BIO_free(in);
	if (!infos) {
		const char *reason = ERR_reason_error_string(ERR_peek_last_error());

		err_set(e,
			"cannot read the host's certificate bundle: %s; put in order "
			"what it is made of "
			"(on Debian: update-ca-certificates --fresh)",
			reason ? reason : "out of memory");
	}
	return infos;
}

static int add_anchors(X509_STORE *anchors, struct span bundle, struct err *e)
{
	STACK_OF(X509_INFO) *infos = read_bundle(bundle, e);
	int n = 0, r = 0;

	if (!infos)
		return -1;
	for (int i = 0; i < sk_X509_INFO_num(infos) && r == 0; i++) {
		const X509_INFO *info = sk_X509_INFO_value(infos, i);

		if (!info->x509)
			continue;
		if (X509_STORE_add_cert(anchors, info->x509) != 1)
			r = tls_err_set(e, "the host's certificate bundle");
		n++;
	}
	free_infos(infos);
	if (r == 0 && n == 0)
		return err_set(
			e, "the host's certificate bundle has no certificate in it; install one "
			   "(on Debian: the package ca-certificates)");
	return r;
}

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
	if (!s->context || add_anchors(SSL_CTX_get_cert_store(s->context), bundle, e) != 0)
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
	session_cache_free(s->sessions);
	free(s);
}
