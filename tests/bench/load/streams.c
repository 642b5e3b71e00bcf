/* SPDX-License-Identifier: Apache-2.0 */
/* TCP connections that stay: bulk both ways, round trips, the time to connect, idle flows. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { BUFFER = 128 * 1024, STREAMS_MAX = 64, FLOWS_MAX = 10000, TRIP_OCTETS = 64 };

struct stream {
	pthread_t thread;
	int fd;
	uint64_t until;
	uint64_t octets; /* that the far side has, or that came from it */
	uint64_t ended;	 /* when they had all arrived */
};

/* The far side tells what it has read after the end, so buffers on the way do not count. */
static void *send_bulk(void *p)
{
	struct stream *s = p;
	char *buffer = calloc(1, BUFFER);

	while (buffer && load_now_ns() < s->until)
		load_write(s->fd, buffer, BUFFER);
	shutdown(s->fd, SHUT_WR);
	if (read(s->fd, &s->octets, sizeof(s->octets)) != sizeof(s->octets))
		load_fail("the count");
	s->ended = load_now_ns();
	free(buffer);
	return NULL;
}

static void *receive_bulk(void *p)
{
	struct stream *s = p;
	char *buffer = malloc(BUFFER);
	ssize_t n = 1;

	while (buffer && n > 0 && s->ended < s->until) {
		n = read(s->fd, buffer, BUFFER);
		s->octets += n > 0 ? (uint64_t)n : 0;
		s->ended = load_now_ns();
	}
	free(buffer);
	return NULL;
}

void load_bulk(char **argv)
{
	static struct stream streams[STREAMS_MAX];
	bool up = strcmp(argv[1], "up") == 0;
	size_t n = load_number(argv[2], STREAMS_MAX);
	uint64_t ms = load_number(argv[3], 60000), start, ended = 0, octets = 0;
	struct sockaddr_in to = load_address(argv[0], up ? PORT_SINK : PORT_SOURCE);

	start = load_start();
	for (size_t i = 0; i < n; i++) {
		streams[i] =
			(struct stream){.fd = load_connect(&to), .until = start + ms * 1000000};
		if (pthread_create(&streams[i].thread, NULL, up ? send_bulk : receive_bulk,
				   &streams[i]) != 0)
			load_fail("thread");
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(streams[i].thread, NULL);
		close(streams[i].fd);
		octets += streams[i].octets;
		ended = streams[i].ended > ended ? streams[i].ended : ended;
	}
	printf("{\"gbit_s\": %.4f, \"gbit\": %.4f}\n", (double)octets * 8 / (double)(ended - start),
	       (double)octets * 8 / 1e9);
	load_wait();
}

static void print_times(struct samples *s)
{
	printf("{\"p50_us\": %.2f, \"p99_us\": %.2f, \"count\": %zu}\n", samples_percentile(s, 0.5),
	       samples_percentile(s, 0.99), s->n);
}

void load_round_trips(char **argv)
{
	struct sockaddr_in to = load_address(argv[0], PORT_ECHO);
	uint64_t ms = load_number(argv[1], 60000), until;
	struct samples trips = {0};
	int fd = load_connect(&to);
	char octets[TRIP_OCTETS] = {0};

	until = load_start() + ms * 1000000;
	for (uint64_t begun = load_now_ns(); begun < until; begun = load_now_ns()) {
		load_write(fd, octets, sizeof(octets));
		if (recv(fd, octets, sizeof(octets), MSG_WAITALL) != sizeof(octets))
			load_fail("echo");
		samples_add(&trips, load_now_ns() - begun);
	}
	print_times(&trips);
	load_wait();
}

/* Each connection is closed with a reset, so that none is left waiting. */
void load_connects(char **argv)
{
	struct sockaddr_in to = load_address(argv[0], PORT_ECHO);
	uint64_t ms = load_number(argv[1], 60000), until;
	struct linger reset = {.l_onoff = 1};
	struct samples times = {0};

	until = load_start() + ms * 1000000;
	for (uint64_t begun = load_now_ns(); begun < until; begun = load_now_ns()) {
		int fd = load_connect(&to);

		samples_add(&times, load_now_ns() - begun);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
	}
	print_times(&times);
	load_wait();
}

/* Opens COUNT connections and keeps them. */
void load_flows(char **argv)
{
	struct sockaddr_in to = load_address(argv[0], PORT_ECHO);
	size_t n = load_number(argv[1], FLOWS_MAX);

	load_start();
	for (size_t i = 0; i < n; i++)
		load_connect(&to);
	printf("{\"flows\": %zu}\n", n);
	load_wait();
}
