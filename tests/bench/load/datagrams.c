/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams of one size, as fast as they leave or at a rate. The server counts
 * them: 'z' sets the count to zero, 'c' asks for it (8 octets), 'd' is counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum { BATCH = 32, OCTETS_MAX = 1472, RECEIVE_BUFFER = 4 << 20 };

/* BATCH messages over one buffer each, of `size` octets. */
static void make_batch(struct mmsghdr *m, struct iovec *v, char (*octets)[OCTETS_MAX], size_t size)
{
	for (int i = 0; i < BATCH; i++) {
		v[i] = (struct iovec){.iov_base = octets[i], .iov_len = size};
		m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &v[i], .msg_iovlen = 1}};
	}
}

static void answer(int fd, uint64_t *count, char order, const struct sockaddr_in *from)
{
	if (order == 'z')
		*count = 0;
	if (order != 'd' &&
	    sendto(fd, count, sizeof(*count), 0, (const struct sockaddr *)from, sizeof(*from)) < 0)
		errno = 0; /* it will ask again */
}

void serve_datagrams(const char *host)
{
	static char octets[BATCH][OCTETS_MAX];
	static struct sockaddr_in from[BATCH];
	struct mmsghdr m[BATCH];
	struct iovec v[BATCH];
	int fd = load_bind(SOCK_DGRAM, host, PORT_DATAGRAMS), size = RECEIVE_BUFFER;
	uint64_t count = 0;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	make_batch(m, v, octets, OCTETS_MAX);
	for (;;) {
		int n;

		for (int i = 0; i < BATCH; i++) {
			m[i].msg_hdr.msg_name = &from[i];
			m[i].msg_hdr.msg_namelen = sizeof(from[i]);
		}
		n = recvmmsg(fd, m, BATCH, MSG_WAITFORONE, NULL);
		for (int i = 0; i < n; i++) {
			if (octets[i][0] == 'd')
				count++;
			else
				answer(fd, &count, octets[i][0], &from[i]);
		}
	}
}

/* Sends an order until it is answered. */
static uint64_t ask(int fd, char order)
{
	struct timeval patience = {.tv_usec = 200000};
	uint64_t count;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	for (int tries = 0; tries < 20; tries++) {
		if (send(fd, &order, 1, 0) == 1 &&
		    recv(fd, &count, sizeof(count), 0) == sizeof(count))
			return count;
	}
	load_fail("no count from the server");
}

static uint64_t send_batch(int fd, struct mmsghdr *m)
{
	int n = sendmmsg(fd, m, BATCH, 0);

	if (n < 0 && errno != ENOBUFS && errno != ECONNREFUSED && errno != EAGAIN)
		load_fail("sendmmsg");
	return n > 0 ? (uint64_t)n : 0;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* RATE datagrams a second, 0 meaning as fast as they leave. The number sent. */
static uint64_t send_all(int fd, struct mmsghdr *m, uint64_t rate, uint64_t start, uint64_t until)
{
	uint64_t sent = 0, now;

	while ((now = load_now_ns()) < until) {
		if (rate && sent > (now - start) * rate / 1000000000)
			sleep_until(start + sent * 1000000000 / rate);
		sent += send_batch(fd, m);
	}
	return sent;
}

void load_datagrams(char **argv)
{
	static char octets[BATCH][OCTETS_MAX];
	struct sockaddr_in to = load_address(argv[0], PORT_DATAGRAMS);
	size_t size = load_number(argv[1], OCTETS_MAX);
	uint64_t rate = load_number(argv[2], 10000000), ms = load_number(argv[3], 60000);
	uint64_t start, took, sent, received;
	struct mmsghdr m[BATCH];
	struct iovec v[BATCH];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		load_fail("socket");
	memset(octets, 'd', sizeof(octets));
	make_batch(m, v, octets, size);
	ask(fd, 'z');
	start = load_start();
	sent = send_all(fd, m, rate, start, start + ms * 1000000);
	took = load_now_ns() - start;
	sleep_until(load_now_ns() + 50000000); /* what is on the way arrives */
	received = ask(fd, 'c');
	printf("{\"sent\": %llu, \"received\": %llu, \"rate\": %.1f}\n", (unsigned long long)sent,
	       (unsigned long long)received, (double)received * 1e9 / (double)took);
	load_wait();
}
