/* SPDX-License-Identifier: Apache-2.0 */
/* Connections with one small HTTP request each, so many at once, for so long. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "load.h"

enum { AT_ONCE_MAX = 256 };

struct slot {
	int fd;
	bool sent;
	size_t got;
	uint64_t begun;
};

struct client {
	struct sockaddr_in to;
	char request[512];
	int epoll;
	unsigned long errors;
	struct samples done;
	struct slot slots[AT_ONCE_MAX];
};

static void begin(struct client *c, struct slot *s)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = s};

	*s = (struct slot){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
			   .begun = load_now_ns()};
	if (s->fd < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, s->fd, &e) != 0)
		load_fail("socket");
	if (connect(s->fd, (struct sockaddr *)&c->to, sizeof(c->to)) != 0 && errno != EINPROGRESS)
		load_fail("connect");
}

/* The answer is there when the server has closed after more than its head. */
static void end(struct client *c, struct slot *s)
{
	enum { LEAST = 60 };

	if (s->got > LEAST)
		samples_add(&c->done, load_now_ns() - s->begun);
	else
		c->errors++;
	close(s->fd);
	s->fd = -1;
}

/* True when the connection has ended. */
static bool step(struct client *c, struct slot *s, uint32_t events)
{
	char answer[4096];
	ssize_t n;

	if (events & EPOLLOUT && !s->sent) {
		size_t size = strlen(c->request);

		if (write(s->fd, c->request, size) != (ssize_t)size)
			return true;
		s->sent = true;
	}
	if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return false;
	while ((n = read(s->fd, answer, sizeof(answer))) > 0)
		s->got += (size_t)n;
	return n == 0 || errno != EAGAIN;
}

static void run(struct client *c, size_t at_once, uint64_t until)
{
	struct epoll_event ready[AT_ONCE_MAX];
	size_t open = at_once;

	for (size_t i = 0; i < at_once; i++)
		begin(c, &c->slots[i]);
	while (open) {
		int n = epoll_wait(c->epoll, ready, AT_ONCE_MAX, 10000);

		if (n <= 0)
			load_fail("no answer for 10 s");
		for (int i = 0; i < n; i++) {
			struct slot *s = ready[i].data.ptr;

			if (!step(c, s, ready[i].events))
				continue;
			end(c, s);
			if (load_now_ns() < until)
				begin(c, s);
			else
				open--;
		}
	}
}

/* HOST is what the request names, CONNECT_TO where it goes: to a proxy when PORT is not 80. */
void load_requests(char **argv)
{
	static struct client c;
	uint16_t port = (uint16_t)load_number(argv[2], UINT16_MAX);
	size_t at_once = load_number(argv[3], AT_ONCE_MAX);
	uint64_t ms = load_number(argv[4], 60000), start, took;

	c.to = load_address(argv[1], port);
	c.epoll = epoll_create1(EPOLL_CLOEXEC);
	snprintf(c.request, sizeof(c.request),
		 "GET %s%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
		 port == PORT_HTTP ? "" : "http://", port == PORT_HTTP ? "" : argv[0], argv[0]);
	start = load_start();
	run(&c, at_once, start + ms * 1000000);
	took = load_now_ns() - start;
	printf("{\"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"count\": %zu, "
	       "\"errors\": %lu}\n",
	       (double)c.done.n * 1e9 / (double)took, samples_percentile(&c.done, 0.5),
	       samples_percentile(&c.done, 0.99), c.done.n, c.errors);
	load_wait();
}
