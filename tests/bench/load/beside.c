/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is refused, RATE times a second: datagrams, or connections one after the other; alone, or
 * next to one connection that is allowed: how fast its octets go, and how long its round trips
 * take.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum { BUFFER = 128 * 1024, BATCH = 8, TRIP_OCTETS = 64, PORT_REFUSED = 4242 };

struct flood {
	pthread_t thread;
	struct sockaddr_in to;
	uint64_t rate, sent;
	bool connects;
	atomic_bool stop;
};

static void wait_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* The socket is not connected, so that no refusal comes back to it as an error. */
static int send_batch(struct flood *f, int fd)
{
	struct iovec v = {(char[]){"refused"}, 7};
	struct mmsghdr m[BATCH];

	for (int i = 0; i < BATCH; i++)
		m[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &f->to,
						    .msg_namelen = sizeof(f->to),
						    .msg_iov = &v,
						    .msg_iovlen = 1}};
	return sendmmsg(fd, m, BATCH, 0);
}

static int connect_batch(const struct flood *f)
{
	for (int i = 0; i < BATCH; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(fd, (const struct sockaddr *)&f->to, sizeof(f->to)) == 0)
			load_fail("what was to be refused is connected");
		close(fd);
	}
	return BATCH;
}

static void *send_refused(void *p)
{
	struct flood *f = p;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t start = load_now_ns();

	while (!f->stop) {
		int n = f->connects ? connect_batch(f) : send_batch(f, fd);

		f->sent += n > 0 ? (uint64_t)n : 0;
		wait_until(start + f->sent * 1000000000 / f->rate);
	}
	close(fd);
	return NULL;
}

static void begin_flood(struct flood *f, const char *to, uint64_t rate)
{
	f->to = load_address(to, PORT_REFUSED);
	f->rate = rate;
	f->sent = 0;
	f->stop = false;
	if (rate && pthread_create(&f->thread, NULL, send_refused, f) != 0)
		load_fail("thread");
}

static void end_flood(struct flood *f)
{
	f->stop = true;
	if (f->rate)
		pthread_join(f->thread, NULL);
}

/* Octets a second of one stream to the sink. */
static double bulk(int fd, uint64_t ms)
{
	char *buffer = calloc(1, BUFFER);
	uint64_t start = load_now_ns(), until = start + ms * 1000000, octets = 0;

	while (buffer && load_now_ns() < until)
		load_write(fd, buffer, BUFFER);
	shutdown(fd, SHUT_WR);
	if (read(fd, &octets, sizeof(octets)) != sizeof(octets))
		load_fail("the count");
	free(buffer);
	return (double)octets * 8 / (double)(load_now_ns() - start);
}

static double median_trip(int fd, uint64_t ms)
{
	uint64_t until = load_now_ns() + ms * 1000000;
	struct samples trips = {0};
	char octets[TRIP_OCTETS] = {0};

	for (uint64_t begun = load_now_ns(); begun < until; begun = load_now_ns()) {
		load_write(fd, octets, sizeof(octets));
		if (recv(fd, octets, sizeof(octets), MSG_WAITALL) != sizeof(octets))
			load_fail("echo");
		samples_add(&trips, load_now_ns() - begun);
	}
	return samples_percentile(&trips, 0.5);
}

void load_refused(char **argv)
{
	struct flood f = {.connects = strcmp(argv[0], "connections") == 0};
	uint64_t rate = load_number(argv[2], 10000000), ms = load_number(argv[3], 60000);

	load_start();
	begin_flood(&f, argv[1], rate);
	wait_until(load_now_ns() + ms * 1000000);
	end_flood(&f);
	printf("{\"refused\": %llu}\n", (unsigned long long)f.sent);
	load_wait();
}

void load_beside(char **argv)
{
	struct sockaddr_in sink = load_address(argv[0], PORT_SINK);
	struct sockaddr_in echo = load_address(argv[0], PORT_ECHO);
	uint64_t rate = load_number(argv[2], 10000000), ms = load_number(argv[3], 60000), start;
	int bulk_fd = load_connect(&sink), echo_fd = load_connect(&echo);
	struct flood f = {.connects = false};
	double gbit_s, trip_us, took;

	start = load_start();
	begin_flood(&f, argv[1], rate);
	gbit_s = bulk(bulk_fd, ms);
	trip_us = median_trip(echo_fd, ms);
	took = (double)(load_now_ns() - start) / 1e9;
	end_flood(&f);
	printf("{\"gbit_s\": %.4f, \"trip_us\": %.2f, \"refused\": %.0f}\n", gbit_s, trip_us,
	       (double)f.sent / took);
	load_wait();
}
