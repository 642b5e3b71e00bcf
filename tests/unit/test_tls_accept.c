/* SPDX-License-Identifier: Apache-2.0 */
/* Towards the sandbox's clients: what they are shown, agreed to and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/compiler.h"
#include "tls_rig.h"

static struct authority *authority;
static SSL_CTX *client;

static int setup(void **state)
{
	struct err e;

	authority = authority_new("box", NULL, 30, &e);
	if (!authority)
		return -1;
	client = peer_client(authority_certificate(authority));
	return 0;
}

static int teardown(void **state)
{
	SSL_CTX_free(client);
	authority_free(authority);
	return 0;
}

static void open_for(struct pair *p, const char *name, enum tls_alpn alpn)
{
	struct name n = name_of(name);
	struct err e;

	pair_open(p);
	p->ours = tls_accept_new(authority, p->fds[0], &n, alpn, &e);
	assert_non_null(p->ours);
}

static void a_client_that_trusts_the_authority_gets_in(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

	for (size_t i = 0; i < sg_array_len(versions); i++) {
		struct pair p;

		open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
		peer_start(&p, client, "api.example.net");
		SSL_set_max_proto_version(p.peer, versions[i]);
		assert_int_equal(pair_handshake(&p), TLS_DONE);
		assert_int_equal(SSL_get_verify_result(p.peer), X509_V_OK);
		assert_int_equal(SSL_version(p.peer), versions[i]);
		assert_int_equal(tls_alpn(p.ours), TLS_ALPN_NONE);
		pair_close(&p);
	}
}

static void exactly_the_wanted_protocol_is_agreed_to(void **state)
{
	static const struct {
		const char *offer;
		enum tls_alpn wanted;
		enum tls_result result;
		enum tls_alpn agreed;
	} rows[] = {
		{"\x02h2\x08http/1.1", TLS_ALPN_HTTP1, TLS_DONE, TLS_ALPN_HTTP1},
		{"\x02h2\x08http/1.1", TLS_ALPN_HTTP2, TLS_DONE, TLS_ALPN_HTTP2},
		{"\x08http/1.1", TLS_ALPN_HTTP1, TLS_DONE, TLS_ALPN_HTTP1},
		{"\x02h2\x08http/1.1", TLS_ALPN_NONE, TLS_DONE, TLS_ALPN_NONE},
		{"", TLS_ALPN_HTTP2, TLS_DONE, TLS_ALPN_NONE},
		{"\x08http/1.1", TLS_ALPN_HTTP2, TLS_FAILED, 0},
		{"\x02h2", TLS_ALPN_HTTP1, TLS_FAILED, 0},
		{"\x03h2x\x02h3", TLS_ALPN_HTTP2, TLS_FAILED, 0},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct pair p;

		open_for(&p, "api.example.net", rows[i].wanted);
		peer_start(&p, client, "api.example.net");
		if (rows[i].offer[0])
			SSL_set_alpn_protos(p.peer, (const uint8_t *)rows[i].offer,
					    (unsigned)strlen(rows[i].offer));
		assert_int_equal(pair_handshake(&p), rows[i].result);
		if (rows[i].result == TLS_DONE)
			assert_int_equal(tls_alpn(p.ours), rows[i].agreed);
		else
			assert_string_equal(
				tls_why(p.ours),
				"the client does not offer the protocol that the server speaks");
		pair_close(&p);
	}
}

static void a_hello_for_another_name_is_refused(void **state)
{
	static const char *const other[] = {"evil.example", "xapi.example.net",
					    "api.example.net.x"};

	for (size_t i = 0; i < sg_array_len(other); i++) {
		struct pair p;

		open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
		peer_start(&p, client, other[i]);
		assert_int_equal(pair_handshake(&p), TLS_FAILED);
		assert_string_equal(tls_why(p.ours), "the client asks for another server name than "
						     "it connected to");
		pair_close(&p);
	}
}

/* After a hello with a key share that is of no use to us there is a second one (RFC 8446,
 * 4.1.4). */
static void a_second_hello_for_another_name_is_refused(void **state)
{
	struct pair p;

	open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
	peer_start(&p, client, "api.example.net");
	assert_int_equal(SSL_set1_groups_list(p.peer, "P-521:X25519"), 1);
	assert_int_equal(SSL_do_handshake(p.peer), -1);
	assert_int_equal(tls_handshake(p.ours), TLS_WANT_READ);
	assert_string_equal(tls_why(p.ours), "");
	SSL_set_tlsext_host_name(p.peer, "evil.example");
	assert_int_equal(SSL_do_handshake(p.peer), -1);
	assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
	assert_string_equal(tls_why(p.ours),
			    "the client asks for another server name than it connected to");
	pair_close(&p);
}

static void a_name_in_capitals_or_none_is_the_same(void **state)
{
	static const char *const same[] = {"API.example.NET", NULL};

	for (size_t i = 0; i < sg_array_len(same); i++) {
		struct pair p;

		open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
		peer_start(&p, client, same[i]);
		assert_int_equal(pair_handshake(&p), TLS_DONE);
		pair_close(&p);
	}
}

static void assert_refused(SSL_CTX *context, const char *why)
{
	struct pair p;

	open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
	peer_start(&p, context, "api.example.net");
	assert_int_equal(pair_handshake(&p), TLS_FAILED);
	assert_string_equal(tls_why(p.ours), why);
	pair_close(&p);
}

static void a_client_that_cannot_is_told_apart(void **state)
{
	struct pki stranger = pki_new();
	SSL_CTX *distrustful = peer_client(span_of_string(stranger.pem));
	SSL_CTX *old = peer_client(authority_certificate(authority));
	SSL_CTX *rsa = peer_client(authority_certificate(authority));

	assert_refused(distrustful, "the client does not trust the sandbox's authority");
	SSL_CTX_set_min_proto_version(old, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(old, TLS1_1_VERSION);
	assert_refused(old, "the client speaks no version of TLS newer than 1.1");
	SSL_CTX_set_max_proto_version(rsa, TLS1_2_VERSION);
	SSL_CTX_set_cipher_list(rsa, "ECDHE-RSA-AES128-GCM-SHA256");
	assert_refused(rsa,
		       "the client has no cipher, curve or signature that goes with ECDSA P-256");
	SSL_CTX_free(distrustful);
	SSL_CTX_free(old);
	SSL_CTX_free(rsa);
	pki_free(&stranger);
}

static void what_is_not_tls_is_said(void **state)
{
	static const char *const said[] = {"GET / HTTP/1.1\r\n\r\n", "CONNECT a:443 HTTP/1.1\r\n",
					   "\x01\x02\x03\x04\x05\x06"};

	for (size_t i = 0; i < sg_array_len(said); i++) {
		struct pair p;

		open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
		assert_true(write(p.fds[1], said[i], strlen(said[i])) > 0);
		assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
		assert_string_equal(tls_why(p.ours), "the client says something that is not TLS");
		pair_close(&p);
	}
}

static void an_end_or_a_wait_is_said(void **state)
{
	struct pair p;

	open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
	assert_int_equal(tls_handshake(p.ours), TLS_WANT_READ);
	shutdown(p.fds[1], SHUT_WR);
	assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
	assert_string_equal(tls_why(p.ours),
			    "the client closed the connection in the TLS handshake");
	pair_close(&p);

	open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
	assert_int_equal(tls_handshake(p.ours), TLS_WANT_READ);
	tls_give_up(p.ours);
	assert_string_equal(tls_why(p.ours), "the client did not finish the TLS handshake in time");
	pair_close(&p);
}

/* The session of a connection for `name`, which was resumed from `session` or not. */
static SSL_SESSION *visit(const char *name, int version, SSL_SESSION *session, bool resumed)
{
	SSL_SESSION *next;
	size_t written;
	struct pair p;
	char octet;

	open_for(&p, name, TLS_ALPN_HTTP1);
	peer_start(&p, client, name);
	SSL_set_max_proto_version(p.peer, version);
	if (session)
		SSL_set_session(p.peer, session);
	assert_int_equal(pair_handshake(&p), TLS_DONE);
	assert_int_equal(tls_resumed(p.ours), resumed);
	assert_int_equal(tls_write(p.ours, span_of("x", 1), &written), TLS_DONE);
	assert_int_equal(SSL_read(p.peer, &octet, 1), 1);
	next = SSL_get1_session(p.peer);
	assert_int_equal(SSL_SESSION_get_max_early_data(next), 0);
	SSL_shutdown(p.peer);
	pair_close(&p);
	SSL_SESSION_free(session);
	return next;
}

static void a_ticket_is_good_for_its_name_and_authority(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

	for (size_t i = 0; i < sg_array_len(versions); i++) {
		SSL_SESSION *s = visit("a.example.net", versions[i], NULL, false);
		struct authority *other, *kept = authority;
		struct err e;

		s = visit("a.example.net", versions[i], s, true);
		s = visit("a.example.net", versions[i], s, true);
		SSL_SESSION_up_ref(s);
		/* The client is made to offer it for another name, as a hostile one would. */
		SSL_SESSION_set1_hostname(s, "b.example.net");
		SSL_SESSION_free(visit("b.example.net", versions[i], s, false));
		other = authority_new("box", NULL, 30, &e);
		authority = other;
		SSL_CTX_set_verify(client, SSL_VERIFY_NONE, NULL);
		SSL_SESSION_set1_hostname(s, "a.example.net");
		SSL_SESSION_free(visit("a.example.net", versions[i], s, false));
		SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
		authority = kept;
		authority_free(other);
	}
}

/* TLS 1.2 alone has it. The connection goes on with the keys that it has. */
static void renegotiation_is_refused(void **state)
{
	uint8_t octets[16];
	struct buf into = buf_of(octets, sizeof(octets));
	struct pair p;
	char octet;

	open_for(&p, "api.example.net", TLS_ALPN_HTTP1);
	peer_start(&p, client, "api.example.net");
	SSL_set_max_proto_version(p.peer, TLS1_2_VERSION);
	assert_int_equal(pair_handshake(&p), TLS_DONE);
	assert_int_equal(SSL_renegotiate(p.peer), 1);
	assert_true(SSL_do_handshake(p.peer) <= 0);
	assert_int_equal(tls_read(p.ours, &into), TLS_WANT_READ);
	ERR_clear_error();
	assert_true(SSL_read(p.peer, &octet, 1) <= 0);
	assert_int_equal(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
	pair_close(&p);
}

/* A full heap of secrets costs handshakes, not those that are done, and not for longer than it
 * is full. */
static void without_room_for_keys_a_handshake_fails(void **state)
{
	static void *pieces[20000];
	struct pair established, late;
	size_t n = 0, written;

	open_for(&established, "api.example.net", TLS_ALPN_HTTP1);
	peer_start(&established, client, "api.example.net");
	assert_int_equal(pair_handshake(&established), TLS_DONE);
	open_for(&late, "api.example.net", TLS_ALPN_HTTP1);
	peer_start(&late, client, "api.example.net");
	SSL_do_handshake(late.peer);
	while (n < sg_array_len(pieces) && (pieces[n] = OPENSSL_secure_malloc(32)))
		n++;
	assert_in_range(n, 1000, sg_array_len(pieces) - 1);
	assert_int_equal(tls_handshake(late.ours), TLS_FAILED);
	assert_string_not_equal(tls_why(late.ours), "");
	assert_int_equal(tls_write(established.ours, span_of("x", 1), &written), TLS_DONE);
	while (n)
		OPENSSL_secure_free(pieces[--n]);
	pair_close(&late);
	pair_close(&established);
	SSL_SESSION_free(visit("api.example.net", TLS1_3_VERSION, NULL, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_that_trusts_the_authority_gets_in),
		cmocka_unit_test(exactly_the_wanted_protocol_is_agreed_to),
		cmocka_unit_test(a_hello_for_another_name_is_refused),
		cmocka_unit_test(a_second_hello_for_another_name_is_refused),
		cmocka_unit_test(a_name_in_capitals_or_none_is_the_same),
		cmocka_unit_test(a_client_that_cannot_is_told_apart),
		cmocka_unit_test(what_is_not_tls_is_said),
		cmocka_unit_test(an_end_or_a_wait_is_said),
		cmocka_unit_test(a_ticket_is_good_for_its_name_and_authority),
		cmocka_unit_test(renegotiation_is_refused),
		cmocka_unit_test(without_room_for_keys_a_handshake_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
