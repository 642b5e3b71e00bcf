/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_tls: what TLS costs the broker, a JSON object a line. Both sides of each connection are
 * its own, on a socket pair; the processor's time of one side's steps is counted. The best of
 * REPEATS.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "broker/tls.h"

enum { CONNECTIONS = 300, LEAVES = 300, REPEATS_MAX = 100, BULK = 64 << 20, PIECE = 64 * 1024 };

static struct authority *authority;
static struct tls_store *store;

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct name numbered_name(unsigned n)
{
	struct name name;
	char text[32];
	int length = snprintf(text, sizeof(text), "h%u.example.net", n);

	if (name_parse_ascii(text, (size_t)length, &name) != NAME_OK)
		die(1, "bench_tls: %s is no name", text);
	return name;
}

struct connection {
	int fds[2];
	struct tls *client, *server;
	double client_us, server_us;
};

static void open_connection(struct connection *c, const struct name *name)
{
	struct err e;
	double at = cpu_us();

	*c = (struct connection){0};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, c->fds) != 0)
		die(1, "bench_tls: socketpair");
	c->client = tls_connect_new(store, c->fds[0], name, true, &e);
	c->client_us = cpu_us() - at;
	at = cpu_us();
	c->server = tls_accept_new(authority, c->fds[1], name, TLS_ALPN_HTTP2, &e);
	c->server_us = cpu_us() - at;
	if (!c->client || !c->server)
		die(1, "bench_tls: %s", e.text);
}

static void shake_hands(struct connection *c)
{
	enum tls_result client = TLS_WANT_READ, server = TLS_WANT_READ;

	while (client != TLS_DONE || server != TLS_DONE) {
		double at = cpu_us(), between;

		client = tls_handshake(c->client);
		between = cpu_us();
		server = tls_handshake(c->server);
		c->client_us += between - at;
		c->server_us += cpu_us() - between;
		if (client == TLS_FAILED || server == TLS_FAILED)
			die(1, "bench_tls: %s %s", tls_why(c->client), tls_why(c->server));
	}
}

/* An octet to the client, so that it has read its tickets. */
static void say_something(struct connection *c)
{
	uint8_t octets[8];
	struct buf into = buf_of(octets, sizeof(octets));
	size_t n;

	if (tls_write(c->server, span_of("x", 1), &n) != TLS_DONE ||
	    tls_read(c->client, &into) != TLS_DONE)
		die(1, "bench_tls: an octet did not pass");
}

static void close_connection(struct connection *c)
{
	tls_free(c->client);
	tls_free(c->server);
	close(c->fds[0]);
	close(c->fds[1]);
}

static void print(const char *what, const char *unit, double value, const char *sign, double goal)
{
	printf("{\"what\": \"%s\", \"unit\": \"%s\", \"value\": %.1f, "
	       "\"sign\": \"%s\", \"goal\": %g}\n",
	       what, unit, value, sign, goal);
}

static double least(double a, double b)
{
	return a == 0 || b < a ? b : a;
}

/* New names each time: none is in a cache. */
static void measure_leaves(unsigned repeats)
{
	double best = 0;
	unsigned next = 1000000;

	for (unsigned r = 0; r < repeats; r++) {
		double at = cpu_us();

		for (unsigned i = 0; i < LEAVES; i++) {
			struct name name = numbered_name(next++);
			struct leaf leaf;
			struct err e;

			if (authority_find_leaf(authority, &name, &leaf, &e) != 0)
				die(1, "bench_tls: %s", e.text);
			X509_free(leaf.certificate);
		}
		best = least(best, (cpu_us() - at) / LEAVES);
	}
	print("a certificate for a new name", "us", best, "<=", 300);
}

/* Each name once has no session; one name over and over resumes, but for the first time. */
static void measure_handshakes(unsigned repeats, bool resumed)
{
	double client = 0, server = 0;
	unsigned next = 1;

	for (unsigned r = 0; r < repeats; r++) {
		double client_us = 0, server_us = 0;

		for (unsigned i = 0; i < CONNECTIONS; i++) {
			struct name name = numbered_name(resumed ? 0 : next++);
			struct connection c;

			open_connection(&c, &name);
			shake_hands(&c);
			if (resumed && (r || i) && !tls_resumed(c.server))
				die(1, "bench_tls: a session was not resumed");
			say_something(&c);
			client_us += c.client_us;
			server_us += c.server_us;
			close_connection(&c);
		}
		client = least(client, client_us / CONNECTIONS);
		server = least(server, server_us / CONNECTIONS);
	}
	print(resumed ? "handshake with a client, resumed"
		      : "handshake with a client of a new name",
	      "us", server, "<=", 1000);
	print(resumed ? "handshake with a server, resumed" : "handshake with a server, verified",
	      "us", client, "<=", 1000);
}

static double pass_bulk(struct connection *c)
{
	static uint8_t out[PIECE], in[PIECE];
	size_t sent = 0, got = 0;
	double at = cpu_us();

	while (got < BULK) {
		struct buf into = buf_of(in, sizeof(in));
		size_t n = 0;

		if (sent < BULK)
			tls_write(c->server, span_of(out, sizeof(out)), &n);
		sent += n;
		while (tls_read(c->client, &into) == TLS_DONE) {
			got += into.n;
			into.n = 0;
		}
	}
	return BULK / (cpu_us() - at);
}

/* Sealed by one side and opened by the other: what each octet that passes costs the broker. */
static void measure_bulk(unsigned repeats)
{
	struct name name = numbered_name(0);
	double best = 0;

	for (unsigned r = 0; r < repeats; r++) {
		struct connection c;
		double rate;

		open_connection(&c, &name);
		shake_hands(&c);
		rate = pass_bulk(&c);
		best = rate > best ? rate : best;
		close_connection(&c);
	}
	print("octets opened and sealed, of one core", "MB/s", best, ">=", 500);
}

int main(int argc, char **argv)
{
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
	struct err e;

	if (repeats == 0 || repeats > REPEATS_MAX)
		die(2, "bench_tls: REPEATS is a number from 1 to %d", REPEATS_MAX);
	signal(SIGPIPE, SIG_IGN);
	authority = authority_new("bench", NULL, 30, &e);
	if (authority)
		store = tls_store_new(authority_certificate(authority), &e);
	if (!store)
		die(1, "bench_tls: %s", e.text);
	measure_leaves(repeats);
	measure_handshakes(repeats, false);
	measure_handshakes(repeats, true);
	measure_bulk(repeats);
	tls_store_free(store);
	authority_free(authority);
	return 0;
}
