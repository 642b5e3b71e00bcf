/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The far side. One process a port and, where a connection is long, one thread a
 * connection, so that the server is not the bottleneck. It ends with its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "load.h"

enum { BUFFER = 128 * 1024 };

/* ---- HTTP: one answer a connection, which the server closes ---- */

/* A request is read in one piece: the clients of the bench send it in one segment. */
static void answer_request(int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
				     "Content-Length: 6\r\nConnection: close\r\n\r\nhello\n";
	char request[4096];

	if (read(fd, request, sizeof(request)) < 0 && errno == EAGAIN)
		return;
	if (write(fd, answer, sizeof(answer) - 1) < 0)
		errno = 0; /* the client is gone */
	close(fd);
}

static void serve_http(const char *host)
{
	int listener = load_bind(SOCK_STREAM, host, PORT_HTTP),
	    epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ready[64], e = {.events = EPOLLIN, .data.fd = listener};

	fcntl(listener, F_SETFL, O_NONBLOCK);
	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e) != 0)
		load_fail("epoll");
	for (;;) {
		int n = epoll_wait(epoll, ready, sg_array_len(ready), -1);

		for (int i = 0; i < n; i++) {
			int fd = ready[i].data.fd;

			if (fd != listener) {
				answer_request(fd);
				continue;
			}
			while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
				e = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
				epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
			}
		}
	}
}

/* ---- Long connections ---- */

static void sink(int fd)
{
	char *buffer = malloc(BUFFER);
	uint64_t count = 0;
	ssize_t n;

	while (buffer && (n = read(fd, buffer, BUFFER)) > 0)
		count += (uint64_t)n;
	if (write(fd, &count, sizeof(count)) < 0)
		errno = 0;
	free(buffer);
}

static void source(int fd)
{
	char *buffer = calloc(1, BUFFER);

	while (buffer && write(fd, buffer, BUFFER) > 0)
		;
	free(buffer);
}

static void echo(int fd)
{
	char buffer[4096];
	ssize_t n;

	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		if (write(fd, buffer, (size_t)n) != n)
			break;
}

struct connection {
	void (*serve)(int fd);
	int fd;
};

static void *serve_connection(void *p)
{
	struct connection *c = p;

	c->serve(c->fd);
	close(c->fd);
	free(c);
	return NULL;
}

static void serve_threads(const char *host, uint16_t port, void (*serve)(int fd))
{
	int listener = load_bind(SOCK_STREAM, host, port);
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (;;) {
		struct connection *c = malloc(sizeof(*c));
		pthread_t thread;

		if (!c)
			load_fail("memory");
		*c = (struct connection){.serve = serve, .fd = accept(listener, NULL, NULL)};
		if (c->fd < 0 || pthread_create(&thread, &attr, serve_connection, c) != 0)
			load_fail("accept");
	}
}

/* ---- All ---- */

static void serve_sink(const char *host)
{
	serve_threads(host, PORT_SINK, sink);
}

static void serve_source(const char *host)
{
	serve_threads(host, PORT_SOURCE, source);
}

static void serve_echo(const char *host)
{
	serve_threads(host, PORT_ECHO, echo);
}

void load_serve(char **argv)
{
	static void (*const servers[])(const char *host) = {
		serve_http, serve_sink, serve_source, serve_echo, serve_dns, serve_datagrams};
	pid_t pids[sg_array_len(servers)];

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sg_array_len(servers); i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			load_fail("fork");
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			servers[i](argv[0]);
			_exit(1);
		}
	}
	load_wait();
	for (size_t i = 0; i < sg_array_len(servers); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}
