/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_rig.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

struct name name_of(const char *s)
{
	struct name name;

	assert_int_equal(name_parse_ascii(s, strlen(s), &name), NAME_OK);
	return name;
}

static void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
	extension = X509V3_EXT_nconf_nid(NULL, &context, nid, value);
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(x, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

static X509 *certify(EVP_PKEY *key, struct spec spec, X509 *issuer, EVP_PKEY *issuer_key)
{
	X509 *x = X509_new();
	X509_NAME *subject = X509_get_subject_name(x);
	const char *cn = spec.common_name ? spec.common_name : "rig";
	static long serial;

	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
	X509_gmtime_adj(X509_getm_notBefore(x), (spec.from_days ? spec.from_days : -1) * 86400L);
	X509_gmtime_adj(X509_getm_notAfter(x),
			spec.to_seconds ? spec.to_seconds
					: (spec.to_days ? spec.to_days : 10) * 86400L);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const uint8_t *)cn, -1, -1, 0);
	X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer) : subject);
	X509_set_pubkey(x, key);
	extend(x, issuer ? issuer : x, NID_basic_constraints,
	       spec.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
	if (!spec.authority)
		extend(x, issuer ? issuer : x, NID_ext_key_usage,
		       spec.usage ? spec.usage : "serverAuth");
	if (spec.names)
		extend(x, issuer ? issuer : x, NID_subject_alt_name, spec.names);
	assert_true(X509_sign(x, issuer_key ? issuer_key : key, EVP_sha256()) > 0);
	return x;
}

void pki_write_pem(struct pki *p)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *text;
	long n;

	assert_int_equal(PEM_write_bio_X509(out, p->certificate), 1);
	n = BIO_get_mem_data(out, &text);
	p->pem = strndup(text, (size_t)n);
	BIO_free(out);
}

struct pki pki_new(void)
{
	static int n;
	struct pki p = {.key = EVP_EC_gen("P-256")};
	char name[16];

	snprintf(name, sizeof(name), "rig CA %d", n++);
	p.certificate =
		certify(p.key, (struct spec){.common_name = name, .authority = true}, NULL, NULL);
	pki_write_pem(&p);
	return p;
}

void pki_free(struct pki *p)
{
	EVP_PKEY_free(p->key);
	X509_free(p->certificate);
	free(p->pem);
}

struct issued pki_issue(const struct pki *p, struct spec spec)
{
	struct issued i = {.key = spec.key ? spec.key : EVP_EC_gen("P-256")};

	i.certificate = spec.self_signed ? certify(i.key, spec, NULL, NULL)
					 : certify(i.key, spec, p->certificate, p->key);
	return i;
}

void issued_free(struct issued *i)
{
	EVP_PKEY_free(i->key);
	X509_free(i->certificate);
}

void pair_open(struct pair *p)
{
	signal(SIGPIPE, SIG_IGN);
	*p = (struct pair){0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p->fds), 0);
}

void pair_close(struct pair *p)
{
	tls_free(p->ours);
	SSL_free(p->peer);
	for (int i = 0; i < 2; i++)
		if (p->fds[i] >= 0)
			close(p->fds[i]);
}

static SSL_CTX *peer_context(const SSL_METHOD *method)
{
	SSL_CTX *c = SSL_CTX_new(method);

	assert_non_null(c);
	SSL_CTX_set_security_level(c, 0);
	SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
	return c;
}

SSL_CTX *peer_server(const struct issued *i)
{
	SSL_CTX *c = peer_context(TLS_server_method());

	assert_int_equal(SSL_CTX_use_certificate(c, i->certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(c, i->key), 1);
	return c;
}

SSL_CTX *peer_client(struct span pem)
{
	SSL_CTX *c = peer_context(TLS_client_method());
	BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n);
	X509 *anchor = PEM_read_bio_X509(in, NULL, NULL, NULL);

	assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(c), anchor), 1);
	SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
	X509_free(anchor);
	BIO_free(in);
	return c;
}

void peer_start(struct pair *p, SSL_CTX *context, const char *server_name)
{
	p->peer = SSL_new(context);
	SSL_set_fd(p->peer, p->fds[1]);
	if (SSL_is_server(p->peer)) {
		SSL_set_accept_state(p->peer);
		return;
	}
	SSL_set_connect_state(p->peer);
	if (server_name) {
		SSL_set_tlsext_host_name(p->peer, server_name);
		SSL_set1_host(p->peer, server_name);
	}
}

enum tls_result pair_handshake(struct pair *p)
{
	enum tls_result result = TLS_WANT_READ;

	for (int i = 0; i < 100 && result != TLS_FAILED; i++) {
		if (result != TLS_DONE)
			result = tls_handshake(p->ours);
		if (p->peer && !SSL_is_init_finished(p->peer))
			SSL_do_handshake(p->peer);
		if (result == TLS_DONE && (!p->peer || SSL_is_init_finished(p->peer)))
			break;
	}
	return result;
}
