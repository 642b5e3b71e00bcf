/* SPDX-License-Identifier: Apache-2.0 */
/* Octets over an established connection, and its ends. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/err.h>

#include "base/compiler.h"
#include "tls_rig.h"

enum { HUGE_BODY = 3 * 1024 * 1024 };

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

/* An established connection; the peer has read its tickets. */
static void open_established(struct pair *p, int version)
{
	struct name name = name_of("api.example.net");
	struct err e;
	char octet;

	pair_open(p);
	p->ours = tls_accept_new(authority, p->fds[0], &name, TLS_ALPN_HTTP1, &e);
	assert_non_null(p->ours);
	peer_start(p, client, "api.example.net");
	SSL_set_max_proto_version(p->peer, version);
	assert_int_equal(pair_handshake(p), TLS_DONE);
	assert_int_equal(SSL_read(p->peer, &octet, 1), -1);
	assert_int_equal(SSL_get_error(p->peer, -1), SSL_ERROR_WANT_READ);
}

static enum tls_result read_some(struct pair *p, char *out, size_t cap, size_t *n)
{
	struct buf into = buf_of(out, cap);
	enum tls_result r = tls_read(p->ours, &into);

	*n = into.n;
	return r;
}

static void nothing_passes_before_the_handshake(void **state)
{
	struct name name = name_of("api.example.net");
	struct pair p;
	struct err e;
	char octets[8];
	size_t n;

	pair_open(&p);
	p.ours = tls_accept_new(authority, p.fds[0], &name, TLS_ALPN_HTTP1, &e);
	assert_int_equal(read_some(&p, octets, sizeof(octets), &n), TLS_FAILED);
	assert_int_equal(tls_write(p.ours, span_of("x", 1), &n), TLS_FAILED);
	assert_int_equal(tls_close(p.ours), TLS_FAILED);
	pair_close(&p);
}

/* The octets of one record, small reads, and what is left in OpenSSL meanwhile. */
static void a_record_is_read_in_pieces(void **state)
{
	struct pair p;
	char out[8];
	size_t n;

	open_established(&p, TLS1_3_VERSION);
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_WANT_READ);
	assert_false(tls_has_more(p.ours));
	assert_int_equal(SSL_write(p.peer, "0123456789", 10), 10);
	assert_int_equal(SSL_write(p.peer, "abc", 3), 3);
	assert_int_equal(read_some(&p, out, 0, &n), TLS_DONE);
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_DONE);
	assert_int_equal(n, 8);
	assert_memory_equal(out, "01234567", 8);
	assert_true(tls_has_more(p.ours));
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_DONE);
	assert_int_equal(n, 5);
	assert_memory_equal(out, "89abc", 5);
	assert_false(tls_has_more(p.ours));
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_WANT_READ);
	pair_close(&p);
}

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

/* Writes as a connection does whose codec goes on producing: what was not taken comes again,
 * moved, and with more. */
static void send_on(struct pair *p, const uint8_t *body, size_t *sent)
{
	static uint8_t moved[2][100000];
	static int turn;
	size_t n = HUGE_BODY - *sent, written;
	enum tls_result r;

	if (n > sizeof(moved[0]))
		n = sizeof(moved[0]);
	memcpy(moved[turn ^= 1], body + *sent, n);
	r = tls_write(p->ours, span_of(moved[turn], n), &written);
	assert_true(r == TLS_DONE || r == TLS_WANT_WRITE);
	assert_true(r != TLS_DONE || written == n);
	*sent += written;
	memset(moved[turn ^ 1], 0xee, sizeof(moved[0]));
}

static void more_than_the_socket_takes_arrives_whole(void **state)
{
	uint8_t *body = malloc(HUGE_BODY), *got = malloc(HUGE_BODY);
	size_t sent = 0, received = 0;
	struct pair p;
	int small = 4096;

	for (size_t i = 0; i < HUGE_BODY; i++)
		body[i] = pattern(i);
	open_established(&p, TLS1_3_VERSION);
	setsockopt(p.fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	while (received < HUGE_BODY) {
		int n;

		if (sent < HUGE_BODY)
			send_on(&p, body, &sent);
		while ((n = SSL_read(p.peer, got + received, HUGE_BODY - (int)received)) > 0)
			received += (size_t)n;
		assert_int_equal(SSL_get_error(p.peer, n), SSL_ERROR_WANT_READ);
	}
	assert_int_equal(sent, HUGE_BODY);
	assert_memory_equal(body, got, HUGE_BODY);
	pair_close(&p);
	free(body);
	free(got);
}

/* Moves one octet, if there is one. */
static bool move_one(int from, int to)
{
	char octet;

	return read(from, &octet, 1) == 1 && write(to, &octet, 1) == 1;
}

/* A handshake, octets both ways and an end, of which each octet comes alone. */
static void each_octet_may_come_alone(void **state)
{
	struct name name = name_of("api.example.net");
	int near[2], far[2];
	char out[64];
	size_t n = 0, written, moved = 0;
	struct pair p = {0};
	struct err e;
	enum tls_result r = TLS_WANT_READ;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, near), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, far), 0);
	p.fds[0] = near[0];
	p.fds[1] = far[0];
	p.ours = tls_accept_new(authority, p.fds[0], &name, TLS_ALPN_HTTP1, &e);
	peer_start(&p, client, "api.example.net");
	SSL_do_handshake(p.peer);
	while (r != TLS_DONE || !SSL_is_init_finished(p.peer)) {
		assert_true(move_one(far[1], near[1]) || move_one(near[1], far[1]) || !moved);
		moved++;
		if (r != TLS_DONE)
			r = tls_handshake(p.ours);
		assert_true(r == TLS_DONE || r == TLS_WANT_READ);
		SSL_do_handshake(p.peer);
	}
	assert_true(moved > 600);
	assert_int_equal(SSL_write(p.peer, "request", 7), 7);
	assert_int_equal(SSL_shutdown(p.peer), 0);
	while ((r = read_some(&p, out, sizeof(out), &n)) == TLS_WANT_READ)
		assert_true(move_one(far[1], near[1]));
	assert_int_equal(r, TLS_DONE);
	assert_int_equal(n, 7);
	while ((r = read_some(&p, out, sizeof(out), &n)) == TLS_WANT_READ)
		assert_true(move_one(far[1], near[1]));
	assert_int_equal(r, TLS_CLOSED);
	assert_true(tls_ended_orderly(p.ours));
	assert_int_equal(tls_write(p.ours, span_of("answer", 6), &written), TLS_DONE);
	pair_close(&p);
	close(near[1]);
	close(far[1]);
}

static void an_orderly_end_leaves_the_other_way_open(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

	for (size_t i = 0; i < sg_array_len(versions); i++) {
		struct pair p;
		char out[64];
		size_t n;

		open_established(&p, versions[i]);
		assert_int_equal(SSL_write(p.peer, "bye", 3), 3);
		assert_int_equal(SSL_shutdown(p.peer), 0);
		shutdown(p.fds[1], SHUT_WR);
		assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_DONE);
		assert_int_equal(n, 3);
		assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_CLOSED);
		assert_true(tls_ended_orderly(p.ours));
		assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_CLOSED);
		assert_int_equal(tls_write(p.ours, span_of("answer", 6), &n), TLS_DONE);
		assert_int_equal(tls_close(p.ours), TLS_DONE);
		assert_int_equal(SSL_read(p.peer, out, sizeof(out)), 6);
		assert_int_equal(SSL_read(p.peer, out, sizeof(out)), 0);
		assert_int_equal(SSL_get_error(p.peer, 0), SSL_ERROR_ZERO_RETURN);
		pair_close(&p);
	}
}

static void our_end_leaves_the_other_way_open(void **state)
{
	struct pair p;
	char out[64];
	size_t n;

	open_established(&p, TLS1_3_VERSION);
	assert_int_equal(tls_close(p.ours), TLS_DONE);
	assert_int_equal(tls_close(p.ours), TLS_DONE);
	assert_int_equal(tls_write(p.ours, span_of("late", 4), &n), TLS_FAILED);
	assert_int_equal(SSL_write(p.peer, "still here", 10), 10);
	assert_int_equal(tls_close(p.ours), TLS_DONE);
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_DONE);
	assert_int_equal(n, 10);
	pair_close(&p);
}

static void a_cut_is_no_end(void **state)
{
	struct pair p;
	char out[64];
	size_t n;

	open_established(&p, TLS1_3_VERSION);
	assert_int_equal(SSL_write(p.peer, "half", 4), 4);
	shutdown(p.fds[1], SHUT_WR);
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_DONE);
	assert_int_equal(n, 4);
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_CLOSED);
	assert_false(tls_ended_orderly(p.ours));
	assert_string_equal(tls_why(p.ours),
			    "the client cut the connection: it ended without the end of TLS");
	assert_int_equal(tls_write(p.ours, span_of("x", 1), &n), TLS_FAILED);
	assert_int_equal(tls_close(p.ours), TLS_FAILED);
	pair_close(&p);
}

static void a_reset_is_said(void **state)
{
	struct pair p;
	char out[64];
	size_t n;

	open_established(&p, TLS1_3_VERSION);
	assert_int_equal(tls_write(p.ours, span_of("unread", 6), &n), TLS_DONE);
	close(p.fds[1]);
	p.fds[1] = -1;
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_FAILED);
	assert_string_equal(tls_why(p.ours), "the client reset the connection");
	assert_false(tls_ended_orderly(p.ours));
	assert_int_equal(tls_write(p.ours, span_of("x", 1), &n), TLS_FAILED);
	pair_close(&p);
}

/* Octets that somebody on the way changed. */
static void a_broken_record_ends_it(void **state)
{
	static const uint8_t forged[] = {23, 3,	 3,  0,	 20, 1,	 2,  3,	 4,  5,	 6,  7, 8,
					 9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	struct pair p;
	char out[64];
	size_t n;

	open_established(&p, TLS1_3_VERSION);
	assert_int_equal(write(p.fds[1], forged, sizeof(forged)), sizeof(forged));
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_FAILED);
	assert_non_null(strstr(tls_why(p.ours), "the TLS connection failed: "));
	assert_int_equal(read_some(&p, out, sizeof(out), &n), TLS_FAILED);
	pair_close(&p);
}

/* A write that is under way has a part of a record at the socket: no alert can go before the
 * rest. */
static void no_end_in_the_middle_of_a_record(void **state)
{
	static const uint8_t much[1 << 20];
	struct pair p;
	size_t n;

	open_established(&p, TLS1_3_VERSION);
	assert_int_equal(tls_write(p.ours, span_of(much, sizeof(much)), &n), TLS_WANT_WRITE);
	assert_int_equal(tls_close(p.ours), TLS_FAILED);
	pair_close(&p);
}

/* What an established connection holds, tickets, certificate and all, when nothing passes. */
static void an_idle_connection_is_small(void **state)
{
	enum { MANY = 64, OURS_MAX = 24 * 1024 };
	static struct pair pairs[MANY];
	size_t before, after;
	char out[64];
	size_t n;

	open_established(&pairs[0], TLS1_3_VERSION);
	pair_close(&pairs[0]);
	before = mallinfo2().uordblks;
	for (int i = 0; i < MANY; i++) {
		open_established(&pairs[i], TLS1_3_VERSION);
		assert_int_equal(SSL_write(pairs[i].peer, "x", 1), 1);
		assert_int_equal(read_some(&pairs[i], out, sizeof(out), &n), TLS_DONE);
		assert_int_equal(tls_write(pairs[i].ours, span_of("x", 1), &n), TLS_DONE);
		SSL_free(pairs[i].peer);
		pairs[i].peer = NULL;
	}
	after = mallinfo2().uordblks;
	print_message("%zu octets a connection\n", (after - before) / MANY);
#ifndef __SANITIZE_ADDRESS__
	assert_in_range((after - before) / MANY, 1000, OURS_MAX);
#endif
	for (int i = 0; i < MANY; i++)
		pair_close(&pairs[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_passes_before_the_handshake),
		cmocka_unit_test(a_record_is_read_in_pieces),
		cmocka_unit_test(more_than_the_socket_takes_arrives_whole),
		cmocka_unit_test(each_octet_may_come_alone),
		cmocka_unit_test(an_orderly_end_leaves_the_other_way_open),
		cmocka_unit_test(our_end_leaves_the_other_way_open),
		cmocka_unit_test(a_cut_is_no_end),
		cmocka_unit_test(a_reset_is_said),
		cmocka_unit_test(a_broken_record_ends_it),
		cmocka_unit_test(no_end_in_the_middle_of_a_record),
		cmocka_unit_test(an_idle_connection_is_small),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
