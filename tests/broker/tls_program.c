/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_program: src/broker's TLS on sockets of the loopback, for real programs at the other end.
 *
 *	tls_program accept ALPN NAME [CONSTRAINT...]
 *		makes an authority, prints its certificate and "port N", and serves clients with a
 *		certificate for NAME until standard input ends: one request, and one answer that
 *		says what was agreed to
 *	tls_program connect BUNDLE ALPN NAME PORT...
 *		connects to each port of 127.0.0.1 in turn, verifies the server for NAME, and asks
 *		it for "/"
 *
 *	tls_program beyond CONSTRAINT NAME
 *		prints a certificate for NAME with its key, and the authority that signed it
 *		though it is constrained to CONSTRAINT, which the broker's own would not
 *
 * A line for each connection: "done alpn=http/1.1 resumed=0 N octets", or "failed: WHY". ALPN is
 * h2, http/1.1 or none; h2 to a server means that it is offered too.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "broker/certificate.h"
#include "broker/tls.h"

enum { PATIENCE_MS = 20000, BUNDLE_MAX = 1 << 20 };

static const char *const alpn_names[] = {"none", "http/1.1", "h2"};

static enum tls_alpn read_alpn(const char *text)
{
	for (int i = 0; i < 3; i++)
		if (strcmp(text, alpn_names[i]) == 0)
			return (enum tls_alpn)i;
	die(2, "not an ALPN: %s", text);
}

/* Waits as a step asked. False: it is over, or took too long. */
static bool wait_for(struct tls *t, int fd, enum tls_result result)
{
	struct pollfd p = {fd, result == TLS_WANT_READ ? POLLIN : POLLOUT, 0};

	if (result != TLS_WANT_READ && result != TLS_WANT_WRITE)
		return false;
	if (poll(&p, 1, PATIENCE_MS) == 1)
		return true;
	tls_give_up(t);
	return false;
}

static bool shake_hands(struct tls *t, int fd)
{
	enum tls_result r;

	while (wait_for(t, fd, r = tls_handshake(t)))
		;
	return r == TLS_DONE;
}

static bool send_text(struct tls *t, int fd, const char *text)
{
	struct span left = span_of_string(text);
	enum tls_result r;
	size_t n;

	do {
		r = tls_write(t, left, &n);
		left = span_of(left.p + n, left.n - n);
	} while (wait_for(t, fd, r));
	return r == TLS_DONE;
}

/* Reads until the end, or until a request's head is whole when that is all that comes. How many
 * octets. */
static size_t receive(struct tls *t, int fd, bool head_only)
{
	static char octets[65536];
	size_t total = 0;
	enum tls_result r;

	do {
		struct buf into = buf_of(octets, sizeof(octets) - 1);

		r = tls_read(t, &into);
		total += into.n;
		octets[into.n] = '\0';
		if (head_only && into.n)
			return total;
	} while (r == TLS_DONE || wait_for(t, fd, r));
	return total;
}

static void report(struct tls *t, bool done, size_t n)
{
	if (done)
		printf("done alpn=%s resumed=%d %zu octets\n", alpn_names[tls_alpn(t)],
		       tls_resumed(t), n);
	else
		printf("failed: %s\n", tls_why(t));
	fflush(stdout);
}

static void end(struct tls *t, int fd)
{
	char rest[512];

	tls_close(t);
	shutdown(fd, SHUT_WR);
	fcntl(fd, F_SETFL, 0);
	while (recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	tls_free(t);
	close(fd);
}

static void serve(struct authority *a, int fd, const struct name *name, enum tls_alpn alpn)
{
	struct err e;
	struct tls *t = tls_accept_new(a, fd, name, alpn, &e);
	char answer[256], body[128];
	size_t n = 0;
	bool done;

	if (!t)
		die(1, "%s", e.text);
	done = shake_hands(t, fd);
	if (done) {
		n = receive(t, fd, true);
		snprintf(body, sizeof(body), "alpn=%s resumed=%d\n", alpn_names[tls_alpn(t)],
			 tls_resumed(t));
		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
			 strlen(body), body);
		send_text(t, fd, answer);
	}
	report(t, done, n);
	end(t, fd);
}

static int listen_somewhere(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&here, n) != 0 || listen(fd, 16) != 0 ||
	    getsockname(fd, (struct sockaddr *)&here, &n) != 0)
		die(1, "cannot listen");
	printf("port %d\n", ntohs(here.sin_port));
	fflush(stdout);
	return fd;
}

static int run_accept(char **args)
{
	enum tls_alpn alpn = read_alpn(args[0]);
	struct pollfd p[2] = {{0, POLLIN, 0}, {-1, POLLIN, 0}};
	struct authority *a;
	struct name name;
	struct span pem;
	struct err e;

	if (name_parse_ascii(args[1], strlen(args[1]), &name) != NAME_OK)
		die(2, "not a name: %s", args[1]);
	a = authority_new("test", args + 2, 30, &e);
	if (!a)
		die(1, "%s", e.text);
	pem = authority_certificate(a);
	printf("%.*s", (int)pem.n, (const char *)pem.p);
	p[1].fd = listen_somewhere();
	while (poll(p, 2, -1) > 0 && !p[0].revents)
		serve(a, accept4(p[1].fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), &name, alpn);
	authority_free(a);
	close(p[1].fd);
	return 0;
}

static int dial(const char *port)
{
	struct sockaddr_in there = {.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&there, sizeof(there)) != 0)
		die(1, "cannot connect to port %s", port);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void visit(struct tls_store *s, int fd, const struct name *name, bool http2)
{
	struct err e;
	struct tls *t = tls_connect_new(s, fd, name, http2, &e);
	char request[512];
	size_t n = 0;
	bool done;

	if (!t)
		die(1, "%s", e.text);
	snprintf(request, sizeof(request),
		 "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", name->s);
	done = shake_hands(t, fd) && send_text(t, fd, request);
	if (done)
		n = receive(t, fd, false);
	report(t, done && (n || !*tls_why(t)), n);
	end(t, fd);
}

static struct span read_file(const char *path)
{
	static uint8_t octets[BUNDLE_MAX];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		die(2, "cannot open %s", path);
	n = fread(octets, 1, sizeof(octets), f);
	fclose(f);
	return span_of(octets, n);
}

static int run_connect(char **args)
{
	bool http2 = read_alpn(args[1]) == TLS_ALPN_HTTP2;
	struct err e;
	struct tls_store *s = tls_store_new(read_file(args[0]), &e);
	struct name name;

	if (!s)
		die(1, "%s", e.text);
	if (name_parse_ascii(args[2], strlen(args[2]), &name) != NAME_OK)
		die(2, "not a name: %s", args[2]);
	for (char **port = args + 3; *port; port++)
		visit(s, dial(*port), &name, http2);
	tls_store_free(s);
	return 0;
}

static int run_beyond(char **args)
{
	struct validity validity = {time(NULL) - 3600, time(NULL) + 3600};
	EVP_PKEY *key = certificate_new_key();
	struct name constraint, name;
	X509 *authority, *leaf;

	if (name_parse_ascii(args[0], strlen(args[0]), &constraint) != NAME_OK ||
	    name_parse_ascii(args[1], strlen(args[1]), &name) != NAME_OK)
		die(2, "not a name: %s or %s", args[0], args[1]);
	authority = certificate_new_authority(key, "test", &constraint, 1, validity);
	leaf = certificate_new_leaf(key, &name, validity, authority, key);
	PEM_write_PrivateKey(stdout, key, NULL, NULL, 0, NULL, NULL);
	PEM_write_X509(stdout, leaf);
	PEM_write_X509(stdout, authority);
	X509_free(authority);
	X509_free(leaf);
	EVP_PKEY_free(key);
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc >= 4 && strcmp(argv[1], "accept") == 0)
		return run_accept(argv + 2);
	if (argc >= 6 && strcmp(argv[1], "connect") == 0)
		return run_connect(argv + 2);
	if (argc == 4 && strcmp(argv[1], "beyond") == 0)
		return run_beyond(argv + 2);
	die(2, "usage: tls_program accept ALPN NAME [CONSTRAINT...], "
	       "or connect BUNDLE ALPN NAME PORT..., or beyond CONSTRAINT NAME");
}
