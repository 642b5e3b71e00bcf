/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <openssl/sha.h>

#include "broker/tls_key_log.h"
#include "broker/tls_link.h"

/* A ticket is good for two hours. */
enum { TICKET_SECONDS = 2 * 60 * 60 };

static bool names_same(const struct tls *t, const char *asked)
{
	struct name name;

	return name_parse_ascii(asked, strlen(asked), &name) == NAME_OK &&
	       name_equal(&name, &t->name);
}

/* What was judged is one name, so no hello on the connection may be for another; each comes by
 * here. */
static int on_server_name(SSL *ssl, int *alert, void *context)
{
	struct tls *t = tls_of(ssl);
	const char *asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	if (!asked || names_same(t, asked))
		return SSL_TLSEXT_ERR_OK;
	tls_note(t, "the client asks for another server name than it connected to");
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
		   const unsigned char *offered, unsigned offered_n, void *context)
{
	enum tls_alpn alpn = tls_of(ssl)->alpn;
	const char *wanted = alpn == TLS_ALPN_HTTP2 ? "h2" : "http/1.1";
	struct reader r = reader_of(span_of(offered, offered_n));

	if (alpn == TLS_ALPN_NONE)
		return SSL_TLSEXT_ERR_NOACK;
	while (reader_left(&r)) {
		struct span protocol = reader_take(&r, reader_u8(&r));

		if (!span_equal(protocol, span_of_string(wanted)))
			continue;
		*out = protocol.p;
		*out_n = (unsigned char)protocol.n;
		return SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

SSL_CTX *tls_accept_context_new(struct err *e)
{
	SSL_CTX *c = tls_context_new(TLS_TO_CLIENT, e);

	if (!c)
		return NULL;
	/* Sessions are in the clients' tickets; the key of those is this context's alone. */
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_timeout(c, TICKET_SECONDS);
	SSL_CTX_set_tlsext_servername_callback(c, on_server_name);
	SSL_CTX_set_alpn_select_cb(c, on_alpn, NULL);
	return c;
}

/* A ticket is taken for the name that it was given for only. */
static bool bind_tickets(struct tls *t)
{
	uint8_t id[SHA256_DIGEST_LENGTH];

	return EVP_Digest(t->name.s, t->name.n, id, NULL, EVP_sha256(), NULL) == 1 &&
	       SSL_set_session_id_context(t->ssl, id, sizeof(id)) == 1;
}

static bool use_leaf(struct tls *t, const struct leaf *leaf)
{
	return SSL_use_certificate(t->ssl, leaf->certificate) == 1 &&
	       SSL_use_PrivateKey(t->ssl, leaf->key) == 1;
}

struct tls *tls_accept_new(struct authority *a, int fd, const struct name *name, enum tls_alpn alpn,
			   struct err *e)
{
	struct leaf leaf;
	struct tls *t;

	if (authority_find_leaf(a, name, &leaf, e) != 0)
		return NULL;
	tls_key_log_prepare(authority_context(a));
	t = tls_new(authority_context(a), fd, TLS_TO_CLIENT, name, e);
	if (t && (!use_leaf(t, &leaf) || !bind_tickets(t))) {
		tls_err_set(e, "the certificate for the client");
		tls_free(t);
		t = NULL;
	}
	X509_free(leaf.certificate);
	if (!t)
		return NULL;
	t->alpn = alpn;
	SSL_set_accept_state(t->ssl);
	return t;
}
