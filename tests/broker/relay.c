/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay PORT UPSTREAM-PORT [FRONT BACK]: a proxy on 127.0.0.1 made of the codecs and nothing else,
 * of HTTP/1.1 or, where FRONT or BACK is h2, of HTTP/2 without TLS. It admits every request and
 * writes what it judged to standard output, before an octet of it goes on:
 *
 *	request METHOD PATH AUTHORITY	each in hexadecimal
 *	body OCTETS			in hexadecimal, as they come
 *	end				the body was whole (both only where BACK is h1)
 *
 * A line "up" is written when it listens. It ends with the signal that ends it.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "codec_relay.h"

enum { ROOM = 16 * 1024, EVENTS_MAX = 64 };

struct side {
	int fd; /* -1: closed */
	struct codec *codec;
	uint8_t in[ROOM], out[ROOM];
	size_t in_at, in_n, out_at, out_n;
	bool ended; /* the peer has closed its side */
	bool told;  /* ... and the codec knows */
	bool shut;  /* ours is closed */
};

struct connection {
	struct codec_relay codecs;
	struct side client, server;
};

static uint16_t upstream_port;
static codec_new_fn *front = http1_server_new, *back = http1_client_new;
static int loop;

/* ---- What was judged ---- */

static void print_hex(struct span s)
{
	putchar(' ');
	for (size_t i = 0; i < s.n; i++)
		printf("%02x", s.p[i]);
}

static bool judge(void *ctx, struct message *m)
{
	fputs("request", stdout);
	print_hex(m->method);
	print_hex(m->path);
	print_hex(m->authority);
	putchar('\n');
	fflush(stdout);
	return true;
}

static void note_body(void *ctx, struct span octets, bool whole)
{
	if (octets.n) {
		fputs("body", stdout);
		print_hex(octets);
		putchar('\n');
	}
	if (whole)
		puts("end");
	fflush(stdout);
}

/* ---- Sides ---- */

static void close_side(struct side *s, bool cut)
{
	static const struct linger now = {.l_onoff = 1};

	if (s->fd < 0)
		return;
	if (cut)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(s->fd);
	s->fd = -1;
}

static bool read_some(struct side *s)
{
	ssize_t n;

	if (s->fd < 0 || s->ended || s->in_at < s->in_n)
		return false;
	n = read(s->fd, s->in, sizeof(s->in));
	if (n < 0 && errno == EAGAIN)
		return false;
	s->ended = n <= 0;
	s->in_at = 0;
	s->in_n = n > 0 ? (size_t)n : 0;
	return true;
}

static bool receive_some(struct side *s)
{
	size_t taken = 0;

	if (s->in_at < s->in_n) {
		s->codec->ops->receive(s->codec, span_of(s->in + s->in_at, s->in_n - s->in_at),
				       &taken);
		s->in_at += taken;
		return taken > 0;
	}
	if (!s->ended || s->told)
		return false;
	s->codec->ops->receive_end(s->codec);
	s->told = true;
	return true;
}

static bool produce_some(struct side *s)
{
	struct buf out = buf_of(s->out, sizeof(s->out));

	if (s->out_at < s->out_n)
		return false;
	s->out_at = 0;
	s->out_n = s->codec->ops->produce(s->codec, &out);
	return s->out_n > 0;
}

static bool write_some(struct side *s)
{
	ssize_t n;

	if (s->fd < 0 || s->shut)
		s->out_at = s->out_n;
	if (s->out_at == s->out_n)
		return false;
	n = send(s->fd, s->out + s->out_at, s->out_n - s->out_at, MSG_NOSIGNAL);
	if (n < 0 && errno == EAGAIN)
		return false;
	s->out_at = n < 0 ? s->out_n : s->out_at + (size_t)n;
	return true;
}

/* When all is written a side that is finished is closed for sending, or cut. */
static bool end_some(struct side *s)
{
	if (s->fd < 0 || s->shut || !s->codec->finished || s->out_at < s->out_n)
		return false;
	if (s->codec->cut)
		close_side(s, true);
	else
		shutdown(s->fd, SHUT_WR);
	s->shut = true;
	return true;
}

static bool move_side(struct side *s)
{
	bool moved = read_some(s);

	moved = receive_some(s) || moved;
	moved = produce_some(s) || moved;
	moved = write_some(s) || moved;
	return end_some(s) || moved;
}

/* ---- Connections ---- */

static void watch(struct connection *c, struct side *s)
{
	struct epoll_event e = {.data.ptr = c};

	if (s->fd < 0)
		return;
	if (!s->ended && s->in_at == s->in_n)
		e.events |= EPOLLIN;
	if (s->out_at < s->out_n)
		e.events |= EPOLLOUT;
	if (epoll_ctl(loop, EPOLL_CTL_MOD, s->fd, &e) != 0)
		err(1, "epoll_ctl");
}

/* The one server is gone: what is under way is the last. */
static void follow_end_of_server(struct connection *c)
{
	struct codec *server = c->codecs.server, *client = c->codecs.client;

	if (!client->persistent && server->persistent && !c->codecs.exchanges)
		server->ops->shut(server);
}

static void turn(struct connection *c)
{
	bool moved;

	do {
		moved = move_side(&c->client);
		moved = move_side(&c->server) || moved;
		follow_end_of_server(c);
	} while (moved);
	if (c->server.ended && c->server.shut)
		close_side(&c->server, false);
	if (c->client.fd < 0 || (c->client.ended && c->client.shut)) {
		close_side(&c->client, false);
		close_side(&c->server, false);
	}
	watch(c, &c->client);
	watch(c, &c->server);
}

static int dial(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(upstream_port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		err(1, "upstream");
	return fd;
}

static void start_side(struct connection *c, struct side *s, int fd, struct codec *codec)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
	int yes = 1;

	s->fd = fd;
	s->codec = codec;
	/* A WINDOW_UPDATE that waits for an acknowledgement holds the sender back. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) != 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e) != 0)
		err(1, "a connection");
}

static void accept_one(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct connection *c = calloc(1, sizeof(*c));

	if (fd < 0 || !c)
		err(1, "accept");
	relay_open(&c->codecs, front, back);
	c->codecs.judge = judge;
	c->codecs.body = back == http1_client_new ? note_body : NULL;
	c->codecs.server_continues = true;
	start_side(c, &c->client, fd, c->codecs.server);
	start_side(c, &c->server, dial(), c->codecs.client);
}

static void free_if_over(struct connection *c)
{
	if (c->client.fd >= 0)
		return;
	relay_close(&c->codecs);
	free(c);
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 128) != 0)
		err(1, "port %u", port);
	return fd;
}

/* Of two events of one connection the second may find it closed, so it is freed behind both. */
static void handle(int listener, struct epoll_event *events, int n)
{
	for (int i = 0; i < n; i++) {
		struct connection *c = events[i].data.ptr;

		if (!c)
			accept_one(listener);
		else if (c->client.fd >= 0)
			turn(c);
		for (int k = i + 1; c && k < n; k++)
			if (events[k].data.ptr == c)
				c = NULL;
		if (c)
			free_if_over(c);
	}
}

static void choose_versions(const char *at_front, const char *at_back)
{
	if (strcmp(at_front, "h2") == 0)
		front = http2_server_new;
	if (strcmp(at_back, "h2") == 0)
		back = http2_client_new;
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS_MAX], e = {.events = EPOLLIN};
	int listener;

	if (argc != 3 && argc != 5)
		errx(2, "relay PORT UPSTREAM-PORT [FRONT BACK]");
	if (argc == 5)
		choose_versions(argv[3], argv[4]);
	upstream_port = (uint16_t)atoi(argv[2]);
	listener = listen_on((uint16_t)atoi(argv[1]));
	loop = epoll_create1(EPOLL_CLOEXEC);
	if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, listener, &e) != 0)
		err(1, "epoll");
	puts("up");
	fflush(stdout);
	for (;;) {
		int n = epoll_wait(loop, events, EVENTS_MAX, -1);

		if (n < 0 && errno != EINTR)
			err(1, "epoll_wait");
		handle(listener, events, n);
	}
}
