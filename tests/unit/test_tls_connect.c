/* SPDX-License-Identifier: Apache-2.0 */
/* Towards real servers: who is believed, and what is said of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/rsa.h>

#include "base/compiler.h"
#include "tls_rig.h"

/* The clock of this program, OpenSSL's too: in the place of libc's. */
static time_t ahead;

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec + ahead;
	return t.tv_sec + ahead;
}

static struct pki pki, stranger;
static struct tls_store *store;

static int setup(void **state)
{
	struct err e;

	pki = pki_new();
	stranger = pki_new();
	store = tls_store_new(span_of_string(pki.pem), &e);
	return store ? 0 : -1;
}

static int teardown(void **state)
{
	tls_store_free(store);
	pki_free(&pki);
	pki_free(&stranger);
	return 0;
}

/* A connection to `name` of which the other end is not yet a peer. */
static void open_to(struct pair *p, const char *name, bool offer_http2)
{
	struct name n = name_of(name);
	struct err e;

	pair_open(p);
	p->ours = tls_connect_new(store, p->fds[0], &n, offer_http2, &e);
	assert_non_null(p->ours);
}

/* Has the peer got nothing but a handshake? */
static void assert_nothing_said(struct pair *p)
{
	size_t written;
	char octet;

	assert_int_equal(tls_write(p->ours, span_of("secret", 6), &written), TLS_FAILED);
	assert_int_equal(written, 0);
	if (p->peer)
		assert_true(SSL_read(p->peer, &octet, 1) <= 0);
}

static void assert_why(struct pair *p, SSL_CTX *server, const char *why)
{
	peer_start(p, server, NULL);
	assert_int_equal(pair_handshake(p), TLS_FAILED);
	assert_string_equal(tls_why(p->ours), why);
	assert_nothing_said(p);
	SSL_CTX_free(server);
	pair_close(p);
}

static void assert_certificate_why(const char *name, struct spec spec, const struct pki *by,
				   const char *why)
{
	struct issued i = pki_issue(by, spec);
	struct pair p;

	open_to(&p, name, false);
	assert_why(&p, peer_server(&i), why);
	issued_free(&i);
}

static void a_good_certificate_is_believed(void **state)
{
	static const struct {
		const char *name, *names;
	} rows[] = {
		{"api.example.net", "DNS:api.example.net"},
		{"api.example.net", "DNS:other.example,DNS:API.Example.NET"},
		{"api.example.net", "DNS:*.example.net"},
		{"my_host.example.net", "DNS:my_host.example.net"},
		{"xn--bcher-kva.example", "DNS:xn--bcher-kva.example"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct issued good = pki_issue(&pki, (struct spec){.names = rows[i].names});
		SSL_CTX *server = peer_server(&good);
		struct pair p;

		open_to(&p, rows[i].name, false);
		peer_start(&p, server, NULL);
		assert_int_equal(pair_handshake(&p), TLS_DONE);
		assert_string_equal(tls_why(p.ours), "");
		assert_string_equal(SSL_get_servername(p.peer, TLSEXT_NAMETYPE_host_name),
				    rows[i].name);
		pair_close(&p);
		SSL_CTX_free(server);
		issued_free(&good);
	}
}

static void another_name_is_said(void **state)
{
	static const struct {
		const char *name, *names, *why;
	} rows[] = {
		{"api.example.net", "DNS:other.example",
		 "its certificate is for another name (other.example)"},
		{"a.b.example.net", "DNS:*.example.net",
		 "its certificate is for another name (*.example.net)"},
		{"example.net", "DNS:*.example.net",
		 "its certificate is for another name (*.example.net)"},
		{"api.example.net", "DNS:a*.example.net", "its certificate is for another name"},
		{"api.example.net", "IP:127.0.0.1", "its certificate is for another name"},
		{"api.example.net", "DNS:evil\033[2J.example",
		 "its certificate is for another name"},
		{"api.example.net", NULL, "its certificate is for another name"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++)
		assert_certificate_why(
			rows[i].name,
			(struct spec){.names = rows[i].names, .common_name = "api.example.net"},
			&pki, rows[i].why);
}

static void a_date_is_said(void **state)
{
	time_t past, future;
	char why[80];

	/* At noon, so that the day does not end meanwhile. */
	ahead = 43200 - time(NULL) % 86400;
	past = time(NULL) - 3 * 86400;
	future = time(NULL) + 5 * 86400;
	strftime(why, sizeof(why), "its certificate expired on %Y-%m-%d", gmtime(&past));
	assert_certificate_why(
		"api.example.net",
		(struct spec){.names = "DNS:api.example.net", .from_days = -9, .to_days = -3}, &pki,
		why);
	strftime(why, sizeof(why), "its certificate is not valid before %Y-%m-%d", gmtime(&future));
	assert_certificate_why(
		"api.example.net",
		(struct spec){.names = "DNS:api.example.net", .from_days = 5, .to_days = 9}, &pki,
		why);
	ahead = 0;
}

static void who_signed_is_said(void **state)
{
	struct spec good = {.names = "DNS:api.example.net"}, own = good, client = good;

	own.self_signed = true;
	client.usage = "clientAuth";
	assert_certificate_why("api.example.net", own, &pki, "its certificate is self-signed");
	assert_certificate_why(
		"api.example.net", good, &stranger,
		"its certificate is from an authority that this host does not trust");
	assert_certificate_why("api.example.net", client, &pki,
			       "its certificate is not one of a server");
}

static void one_that_is_no_authority_signs_for_nobody(void **state)
{
	struct issued leaf = pki_issue(
		&pki, (struct spec){.names = "DNS:mine.example", .common_name = "no authority"});
	struct pki forged = {.key = leaf.key, .certificate = leaf.certificate};
	struct issued i = pki_issue(&forged, (struct spec){.names = "DNS:api.example.net"});
	SSL_CTX *server = peer_server(&i);
	struct pair p;

	SSL_CTX_add1_chain_cert(server, leaf.certificate);
	open_to(&p, "api.example.net", false);
	assert_why(&p, server, "its certificate was signed by one that is no authority");
	issued_free(&i);
	issued_free(&leaf);
}

static void a_weak_key_is_said(void **state)
{
	assert_certificate_why(
		"api.example.net",
		(struct spec){.names = "DNS:api.example.net", .key = EVP_RSA_gen(1024)}, &pki,
		"a key or signature of its certificate is too weak");
}

static void an_old_version_is_said(void **state)
{
	struct issued i = pki_issue(&pki, (struct spec){.names = "DNS:api.example.net"});
	SSL_CTX *server = peer_server(&i);
	struct pair p;

	SSL_CTX_set_min_proto_version(server, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(server, TLS1_1_VERSION);
	open_to(&p, "api.example.net", false);
	assert_why(&p, server, "it speaks no version of TLS newer than 1.1");
	issued_free(&i);
}

static void a_refusal_is_said(void **state)
{
	struct issued i = pki_issue(&pki, (struct spec){.names = "DNS:api.example.net"});
	SSL_CTX *server = peer_server(&i);
	struct pair p;

	SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION);
	SSL_CTX_set_cipher_list(server, "ECDHE-RSA-AES128-GCM-SHA256");
	open_to(&p, "api.example.net", false);
	assert_why(&p, server, "it refused the TLS handshake");
	issued_free(&i);
}

/* What a server that speaks no TLS answers to a hello, or says first. */
static void what_is_not_tls_is_said(void **state)
{
	static const char *const said[] = {"220 mail.example ESMTP\r\n",
					   "HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-x\r\n"};

	for (size_t i = 0; i < sg_array_len(said); i++) {
		struct pair p;

		open_to(&p, "api.example.net", true);
		assert_int_equal(tls_handshake(p.ours), TLS_WANT_READ);
		assert_true(write(p.fds[1], said[i], strlen(said[i])) > 0);
		assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
		assert_string_equal(tls_why(p.ours), "it says something that is not TLS");
		assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
		assert_nothing_said(&p);
		pair_close(&p);
	}
}

static void an_end_in_the_handshake_is_said(void **state)
{
	struct pair p;

	open_to(&p, "api.example.net", false);
	assert_int_equal(tls_handshake(p.ours), TLS_WANT_READ);
	shutdown(p.fds[1], SHUT_WR);
	assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
	assert_string_equal(tls_why(p.ours), "it closed the connection in the TLS handshake");
	pair_close(&p);

	open_to(&p, "api.example.net", false);
	assert_int_equal(tls_handshake(p.ours), TLS_WANT_READ);
	close(p.fds[1]); /* with what was sent unread: the other end sees a reset */
	p.fds[1] = -1;
	assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
	assert_string_equal(tls_why(p.ours), "it reset the connection in the TLS handshake");
	pair_close(&p);
}

static void a_wait_without_end_is_said(void **state)
{
	struct pair p;

	open_to(&p, "api.example.net", false);
	assert_int_equal(tls_handshake(p.ours), TLS_WANT_READ);
	tls_give_up(p.ours);
	assert_string_equal(tls_why(p.ours), "it did not finish the TLS handshake in time");
	assert_int_equal(tls_handshake(p.ours), TLS_FAILED);
	pair_close(&p);
}

struct choice {
	const char *protocol; /* that a server agrees to */
};

static int choose(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in,
		  unsigned in_n, void *arg)
{
	const struct choice *c = arg;

	*out = (const unsigned char *)c->protocol;
	*n = (unsigned char)strlen(c->protocol);
	return SSL_TLSEXT_ERR_OK;
}

static void what_the_server_chose_is_told(void **state)
{
	static const struct {
		bool offer_http2;
		const char *chosen;
		enum tls_result result;
		enum tls_alpn alpn;
	} rows[] = {
		{true, "h2", TLS_DONE, TLS_ALPN_HTTP2},
		{true, "http/1.1", TLS_DONE, TLS_ALPN_HTTP1},
		{false, "http/1.1", TLS_DONE, TLS_ALPN_HTTP1},
		{true, NULL, TLS_DONE, TLS_ALPN_NONE},
		{false, "h2", TLS_FAILED, 0},
		{true, "spdy/1", TLS_FAILED, 0},
	};
	struct issued good = pki_issue(&pki, (struct spec){.names = "DNS:api.example.net"});

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct choice choice = {rows[i].chosen};
		SSL_CTX *server = peer_server(&good);
		struct pair p;

		if (rows[i].chosen)
			SSL_CTX_set_alpn_select_cb(server, choose, &choice);
		open_to(&p, "api.example.net", rows[i].offer_http2);
		peer_start(&p, server, NULL);
		assert_int_equal(pair_handshake(&p), rows[i].result);
		if (rows[i].result == TLS_DONE)
			assert_int_equal(tls_alpn(p.ours), rows[i].alpn);
		else
			assert_string_not_equal(tls_why(p.ours), "");
		pair_close(&p);
		SSL_CTX_free(server);
	}
	issued_free(&good);
}

/* A connection from its handshake to its end, orderly or not, with the tickets read. Was a session
 * resumed? */
static bool visit(SSL_CTX *server, const char *name, bool orderly)
{
	uint8_t octets[8];
	struct buf into = buf_of(octets, sizeof(octets));
	struct pair p;
	bool resumed;

	open_to(&p, name, false);
	peer_start(&p, server, NULL);
	assert_int_equal(pair_handshake(&p), TLS_DONE);
	assert_int_equal(SSL_write(p.peer, "x", 1), 1);
	assert_int_equal(tls_read(p.ours, &into), TLS_DONE);
	resumed = tls_resumed(p.ours);
	assert_int_equal(SSL_session_reused(p.peer), resumed);
	if (orderly)
		assert_int_equal(tls_close(p.ours), TLS_DONE);
	pair_close(&p);
	return resumed;
}

static void a_session_is_resumed_for_its_name_only(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	struct issued i = pki_issue(&pki, (struct spec){.names = "DNS:*.example.net"});

	for (size_t v = 0; v < sg_array_len(versions); v++) {
		SSL_CTX *server = peer_server(&i);
		char name[32];

		SSL_CTX_set_max_proto_version(server, versions[v]);
		snprintf(name, sizeof(name), "a%d.example.net", versions[v]);
		assert_false(visit(server, name, true));
		for (int again = 0; again < 10; again++)
			assert_true(visit(server, name, again % 2));
		name[0] = 'b';
		assert_false(visit(server, name, true));
		SSL_CTX_free(server);
	}
	issued_free(&i);
}

/* A session that is not taken any more costs a whole handshake, in which the certificate is
 * looked at. */
static void a_session_replaces_no_verification(void **state)
{
	struct issued good = pki_issue(&pki, (struct spec){.names = "DNS:c.example.net"});
	struct issued bad = pki_issue(&stranger, (struct spec){.names = "DNS:c.example.net"});
	SSL_CTX *server = peer_server(&good), *impostor = peer_server(&bad);
	struct pair p;

	assert_false(visit(server, "c.example.net", true));
	open_to(&p, "c.example.net", false);
	peer_start(&p, impostor, NULL);
	assert_int_equal(pair_handshake(&p), TLS_FAILED);
	pair_close(&p);
	SSL_CTX_free(server);
	SSL_CTX_free(impostor);
	issued_free(&good);
	issued_free(&bad);
}

/* The session would be good for two hours. */
static void a_session_ends_with_its_certificate(void **state)
{
	struct issued i =
		pki_issue(&pki, (struct spec){.names = "DNS:d.example.net", .to_seconds = 600});
	SSL_CTX *server = peer_server(&i);
	struct pair p;

	assert_false(visit(server, "d.example.net", true));
	ahead = 300;
	assert_true(visit(server, "d.example.net", true));
	ahead = 900;
	open_to(&p, "d.example.net", false);
	peer_start(&p, server, NULL);
	assert_int_equal(pair_handshake(&p), TLS_FAILED);
	assert_non_null(strstr(tls_why(p.ours), "its certificate expired on "));
	pair_close(&p);
	ahead = 0;
	SSL_CTX_free(server);
	issued_free(&i);
}

static void a_bundle_is_read_or_said_to_be_broken(void **state)
{
	struct err e;
	char *broken = strdup(pki.pem);

	assert_null(tls_store_new(span_of_string(""), &e));
	assert_string_equal(e.text,
			    "the host's certificate bundle has no certificate in it; install "
			    "one (on Debian: the package ca-certificates)");
	memcpy(strchr(broken, '\n') + 9, "!!!!", 4);
	assert_null(tls_store_new(span_of_string(broken), &e));
	assert_non_null(strstr(e.text, "cannot read the host's certificate bundle: "));
	free(broken);
}

/* An administrator may install an authority that another one signed. */
static void an_anchor_need_not_be_a_root(void **state)
{
	struct issued middle =
		pki_issue(&stranger, (struct spec){.common_name = "middle", .authority = true});
	struct pki by = {.key = middle.key, .certificate = middle.certificate};
	struct issued i = pki_issue(&by, (struct spec){.names = "DNS:api.example.net"});
	SSL_CTX *server = peer_server(&i);
	struct name name = name_of("api.example.net");
	struct tls_store *s;
	struct err e;
	struct pair p;

	pki_write_pem(&by);
	s = tls_store_new(span_of_string(by.pem), &e);
	assert_non_null(s);
	pair_open(&p);
	p.ours = tls_connect_new(s, p.fds[0], &name, false, &e);
	peer_start(&p, server, NULL);
	assert_int_equal(pair_handshake(&p), TLS_DONE);
	pair_close(&p);
	tls_store_free(s);
	SSL_CTX_free(server);
	issued_free(&i);
	pki_free(&by);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_certificate_is_believed),
		cmocka_unit_test(another_name_is_said),
		cmocka_unit_test(a_date_is_said),
		cmocka_unit_test(who_signed_is_said),
		cmocka_unit_test(one_that_is_no_authority_signs_for_nobody),
		cmocka_unit_test(a_weak_key_is_said),
		cmocka_unit_test(an_old_version_is_said),
		cmocka_unit_test(a_refusal_is_said),
		cmocka_unit_test(what_is_not_tls_is_said),
		cmocka_unit_test(an_end_in_the_handshake_is_said),
		cmocka_unit_test(a_wait_without_end_is_said),
		cmocka_unit_test(what_the_server_chose_is_told),
		cmocka_unit_test(a_session_is_resumed_for_its_name_only),
		cmocka_unit_test(a_session_replaces_no_verification),
		cmocka_unit_test(a_session_ends_with_its_certificate),
		cmocka_unit_test(a_bundle_is_read_or_said_to_be_broken),
		cmocka_unit_test(an_anchor_need_not_be_a_root),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
