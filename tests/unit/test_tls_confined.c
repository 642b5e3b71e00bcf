/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once the store and the authority are there, TLS opens nothing and connects to nothing: a child
 * does both, can do neither from then on, and meets good and wrong peers. It is a child that has
 * made all itself, since one has nothing of its parent's heap of secrets.
 */
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/compiler.h"
#include "tls_rig.h"

static void forbid_files(void)
{
	static const int calls[] = {
		SCMP_SYS(open),	      SCMP_SYS(openat),	    SCMP_SYS(openat2), SCMP_SYS(stat),
		SCMP_SYS(newfstatat), SCMP_SYS(statx),	    SCMP_SYS(access),  SCMP_SYS(faccessat),
		SCMP_SYS(readlink),   SCMP_SYS(readlinkat), SCMP_SYS(connect), SCMP_SYS(socket),
		SCMP_SYS(execve),     SCMP_SYS(ioctl),	    SCMP_SYS(sendmsg),
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	for (size_t i = 0; i < sg_array_len(calls); i++)
		assert_int_equal(seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, calls[i], 0), 0);
	assert_int_equal(seccomp_load(filter), 0);
	seccomp_release(filter);
}

static enum tls_result visit(struct tls_store *store, const struct pki *by, struct spec spec)
{
	struct issued i = pki_issue(by, spec);
	SSL_CTX *server = peer_server(&i);
	struct name name = name_of("api.example.net");
	enum tls_result r;
	struct pair p;
	struct err e;

	pair_open(&p);
	p.ours = tls_connect_new(store, p.fds[0], &name, true, &e);
	peer_start(&p, server, NULL);
	r = pair_handshake(&p);
	assert_true((r == TLS_FAILED) == (tls_why(p.ours)[0] != '\0'));
	pair_close(&p);
	SSL_CTX_free(server);
	issued_free(&i);
	return r;
}

static void receive(struct authority *authority, SSL_CTX *client, int version)
{
	struct name name = name_of("api.example.net");
	struct pair p;
	struct err e;

	pair_open(&p);
	p.ours = tls_accept_new(authority, p.fds[0], &name, TLS_ALPN_HTTP1, &e);
	peer_start(&p, client, "api.example.net");
	SSL_set_max_proto_version(p.peer, version);
	assert_int_equal(pair_handshake(&p), TLS_DONE);
	pair_close(&p);
}

static void live_confined(void)
{
	struct pki pki = pki_new(), stranger = pki_new();
	struct spec good = {.names = "DNS:api.example.net"}, expired = good, other = {0};
	struct err e;
	struct tls_store *store = tls_store_new(span_of_string(pki.pem), &e);
	struct authority *authority = authority_new("box", NULL, 30, &e);
	SSL_CTX *client = peer_client(authority_certificate(authority));

	expired.from_days = -5;
	expired.to_days = -2;
	other.names = "DNS:other.example";
	forbid_files();
	receive(authority, client, TLS1_2_VERSION);
	receive(authority, client, TLS1_3_VERSION);
	assert_int_equal(visit(store, &pki, good), TLS_DONE);
	assert_int_equal(visit(store, &stranger, good), TLS_FAILED);
	assert_int_equal(visit(store, &pki, expired), TLS_FAILED);
	assert_int_equal(visit(store, &pki, other), TLS_FAILED);
	/* Fresh octets of the kernel, as after an hour. */
	assert_int_equal(EVP_RAND_reseed(RAND_get0_primary(NULL), 0, NULL, 0, NULL, 0), 1);
	receive(authority, client, TLS1_3_VERSION);
}

static void nothing_is_opened_after_the_start(void **state)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		live_confined();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_opened_after_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
