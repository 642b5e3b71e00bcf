/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share, and the table of commands. */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

void load_fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

unsigned long load_number(const char *text, unsigned long max)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (end == text || *end || errno || v > max) {
		errno = EINVAL;
		load_fail(text);
	}
	return v;
}

uint64_t load_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct sockaddr_in load_address(const char *host, uint16_t port)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
	struct sockaddr_in a;
	int error = getaddrinfo(host, NULL, &hints, &found);

	if (error) {
		fprintf(stderr, "load: %s: %s\n", host, gai_strerror(error));
		exit(1);
	}
	memcpy(&a, found->ai_addr, sizeof(a));
	freeaddrinfo(found);
	a.sin_port = htons(port);
	return a;
}

int load_connect(const struct sockaddr_in *to)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0)
		load_fail("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

int load_bind(int type, const char *host, uint16_t port)
{
	struct sockaddr_in a = load_address(host, port);
	int one = 1, fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		load_fail("bind");
	if (type == SOCK_STREAM && listen(fd, 4096) != 0)
		load_fail("listen");
	return fd;
}

void load_write(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t wrote = write(fd, at, n);

		if (wrote < 0)
			load_fail("write");
		at += wrote;
		n -= (size_t)wrote;
	}
}

uint64_t load_start(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(0);
	return load_now_ns();
}

void load_wait(void)
{
	fflush(stdout);
	while (getchar() != EOF)
		;
}

void samples_add(struct samples *s, uint64_t ns)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 4096;
		s->ns = realloc(s->ns, s->cap * sizeof(*s->ns));
		if (!s->ns)
			load_fail("samples");
	}
	s->ns[s->n++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

double samples_percentile(struct samples *s, double share)
{
	if (s->n == 0)
		return 0;
	qsort(s->ns, s->n, sizeof(*s->ns), compare);
	return s->ns[(size_t)(share * (double)(s->n - 1))] / 1000.0;
}

/* The time of the start of a command, for the time that making its sandbox took. */
static void print_now(char **argv)
{
	(void)argv;
	printf("{\"now_ns\": %llu}\n", (unsigned long long)load_now_ns());
}

static const struct command {
	const char *word;
	void (*run)(char **argv);
	int args;
	const char *usage;
} commands[] = {
	{"serve", load_serve, 1, "ADDRESS"},
	{"requests", load_requests, 5, "HOST CONNECT_TO PORT AT_ONCE MS"},
	{"bulk", load_bulk, 4, "HOST up|down STREAMS MS"},
	{"round-trips", load_round_trips, 2, "HOST MS"},
	{"connects", load_connects, 2, "HOST MS"},
	{"datagrams", load_datagrams, 4, "HOST OCTETS RATE MS"},
	{"questions", load_questions, 5, "SERVER NAME FRESH AT_ONCE MS"},
	{"flows", load_flows, 2, "HOST COUNT"},
	{"beside", load_beside, 4, "HOST REFUSED RATE MS"},
	{"refused", load_refused, 4, "datagrams|connections REFUSED RATE MS"},
	{"now", print_now, 0, ""},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sg_array_len(commands); i++) {
		if (strcmp(argv[1], commands[i].word) != 0 || argc - 2 != commands[i].args)
			continue;
		commands[i].run(argv + 2);
		return 0;
	}
	for (size_t i = 0; i < sg_array_len(commands); i++)
		fprintf(stderr, "load %s %s\n", commands[i].word, commands[i].usage);
	return 2;
}
