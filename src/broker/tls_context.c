/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/rand.h>

#include "broker/locked.h"
#include "broker/tls_link.h"

/* Of security level 2 (SSL_CTX_set_security_level(3)): 112 bits, so RSA of 2048 and no SHA-1.
 * Debian's own. */
enum { SECURITY_LEVEL = 2 };

/* What a server of the internet may need, what Debian's clients offer. */
static const char server_ciphers[] = "DEFAULT:!PSK:!SRP:!aNULL";
/* The sandbox's clients all have these of TLS 1.2; the certificate is ECDSA. */
static const char client_ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
static const char ciphers_13[] =
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/* What browsers offer. Larger ones would take more of the heap of secrets for each connection. */
static const char groups[] = "X25519:P-256:P-384";

int tls_err_set(struct err *e, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return err_set(e, "cannot start TLS: %s: %s", what, reason ? reason : "out of memory");
}

int tls_start(struct err *e)
{
	static bool started;
	uint8_t octets[16];

	/* What it reads of files cannot be read again when the process is confined. */
	if (started)
		return 0;
	/* libc reads the host's time zone at the first conversion of a date, whichever zone is
	 * asked for. */
	tzset();
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, NULL) !=
	    1)
		return tls_err_set(e, "OpenSSL");
	if (locked_start_openssl(e) != 0)
		return -1;
	if (RAND_bytes(octets, sizeof(octets)) != 1 || RAND_priv_bytes(octets, sizeof(octets)) != 1)
		return tls_err_set(e, "no random octets");
	started = true;
	return 0;
}

static void set_options(SSL_CTX *c)
{
	SSL_CTX_clear_options(c, SSL_OP_LEGACY_SERVER_CONNECT | SSL_OP_IGNORE_UNEXPECTED_EOF |
					 SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION |
					 SSL_OP_ENABLE_KTLS);
	/* A server may echo a secret: what was read does not stay in the library's buffer. */
	SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
				       SSL_OP_CLEANSE_PLAINTEXT);
	/* An idle connection gives its 34 KiB of buffers back. */
	SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* A record in one read instead of two. */
	SSL_CTX_set_read_ahead(c, 1);
	SSL_CTX_set_security_level(c, SECURITY_LEVEL);
}

SSL_CTX *tls_context_new(enum tls_role role, struct err *e)
{
	bool server = role == TLS_TO_SERVER;
	SSL_CTX *c = SSL_CTX_new(server ? TLS_client_method() : TLS_server_method());

	if (!c) {
		tls_err_set(e, "OpenSSL");
		return NULL;
	}
	set_options(c);
	if (SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_cipher_list(c, server ? server_ciphers : client_ciphers) != 1 ||
	    SSL_CTX_set_ciphersuites(c, ciphers_13) != 1 ||
	    SSL_CTX_set1_groups_list(c, groups) != 1) {
		tls_err_set(e, "OpenSSL lacks TLS 1.2, TLS 1.3, their ciphers or groups");
		SSL_CTX_free(c);
		return NULL;
	}
	return c;
}
