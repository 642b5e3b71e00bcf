/* SPDX-License-Identifier: Apache-2.0 */
/* DNS over UDP: a server that answers every A question, and a client that asks. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/span.h"
#include "load.h"

enum { MESSAGE_MAX = 512, HEADER = 12, TYPE_A = 1, AT_ONCE_MAX = 128, PATIENCE_S = 2 };

/* ---- The server ---- */

/* The octets of the question after the header, and its type. 0: malformed. */
static size_t question_size(struct span message, uint16_t *type)
{
	struct reader r = reader_of(message);
	uint8_t label;

	reader_take(&r, HEADER);
	do {
		label = reader_u8(&r);
		reader_take(&r, label);
	} while (label && !r.bad);
	*type = reader_u16(&r);
	reader_u16(&r);
	return r.bad ? 0 : r.at - HEADER;
}

static size_t make_answer(struct span q, const struct in_addr *address, uint8_t *out)
{
	struct buf b = buf_of(out, MESSAGE_MAX);
	uint16_t type;
	size_t n = question_size(q, &type);

	if (n == 0)
		return 0;
	buf_put(&b, q.p, 2);
	buf_put(&b, "\x81\x80\0\1", 4);
	buf_put_u16(&b, type == TYPE_A);
	buf_put(&b, "\0\0\0\0", 4);
	buf_put(&b, q.p + HEADER, n);
	if (type == TYPE_A) {
		buf_put(&b, "\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4", 12);
		buf_put(&b, address, 4);
	}
	return b.full ? 0 : b.n;
}

void serve_dns(const char *host)
{
	int fd = load_bind(SOCK_DGRAM, host, PORT_DNS);
	struct in_addr address = load_address(host, 0).sin_addr;

	for (;;) {
		uint8_t question[MESSAGE_MAX], answer[MESSAGE_MAX];
		struct sockaddr_in from;
		socklen_t from_n = sizeof(from);
		ssize_t n = recvfrom(fd, question, sizeof(question), 0, (struct sockaddr *)&from,
				     &from_n);
		size_t size = n > HEADER
				      ? make_answer(span_of(question, (size_t)n), &address, answer)
				      : 0;

		if (size && sendto(fd, answer, size, 0, (struct sockaddr *)&from, from_n) < 0)
			errno = 0; /* the client is gone */
	}
}

/* ---- The client ---- */

struct client {
	int fd;
	const char *name;
	unsigned long fresh; /* >0: the name gets a number before it, from 0 to this */
	unsigned long asked, answered, refused;
	struct samples times;
	uint64_t sent[AT_ONCE_MAX]; /* when; the place is the message id */
};

static void put_name(struct buf *b, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		buf_put_u8(b, (uint8_t)n);
		buf_put(b, name, n);
		name += n + (name[n] == '.');
	}
	buf_put_u8(b, 0);
}

static void ask(struct client *c, uint16_t id)
{
	uint8_t message[MESSAGE_MAX];
	struct buf b = buf_of(message, sizeof(message));
	char name[256];

	if (c->fresh)
		snprintf(name, sizeof(name), "n%lu.%s", c->asked, c->name);
	buf_put_u16(&b, id);
	buf_put(&b, "\1\0\0\1\0\0\0\0\0\0", 10);
	put_name(&b, c->fresh ? name : c->name);
	buf_put(&b, "\0\1\0\1", 4);
	c->sent[id] = load_now_ns();
	c->asked++;
	if (send(c->fd, message, b.n, 0) < 0)
		load_fail("send");
}

/* Takes one answer; its id. */
static uint16_t take(struct client *c)
{
	uint8_t message[MESSAGE_MAX];
	ssize_t n = recv(c->fd, message, sizeof(message), 0);
	uint16_t id;

	if (n < HEADER)
		load_fail("no answer");
	id = (uint16_t)(message[0] << 8 | message[1]);
	if (id >= AT_ONCE_MAX)
		load_fail("another's answer");
	samples_add(&c->times, load_now_ns() - c->sent[id]);
	c->answered++;
	if (message[3] & 15 || message[7] == 0)
		c->refused++;
	return id;
}

static void run(struct client *c, uint16_t at_once, uint64_t until)
{
	for (uint16_t id = 0; id < at_once; id++)
		ask(c, id);
	while (c->answered < c->asked) {
		uint16_t id = take(c);

		if (load_now_ns() < until && (!c->fresh || c->asked < c->fresh))
			ask(c, id);
	}
}

/* FRESH 0: the one NAME again and again, once before the measurement; else n0.NAME, n1.NAME... */
void load_questions(char **argv)
{
	static struct client c;
	struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_in to = load_address(argv[0], PORT_DNS);
	uint16_t at_once = (uint16_t)load_number(argv[3], AT_ONCE_MAX);
	uint64_t ms = load_number(argv[4], 60000), start, took;

	c.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	c.name = argv[1];
	if (c.fd < 0 || connect(c.fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		load_fail("socket");
	setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ask(&c, 0);
	take(&c);
	c.asked = c.answered = c.refused = c.times.n = 0;
	c.fresh = load_number(argv[2], 1000000);
	start = load_start();
	run(&c, at_once, start + ms * 1000000);
	took = load_now_ns() - start;
	printf("{\"rate\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"count\": %lu, "
	       "\"refused\": %lu}\n",
	       (double)c.answered * 1e9 / (double)took, samples_percentile(&c.times, 0.5),
	       samples_percentile(&c.times, 0.99), c.answered, c.refused);
	load_wait();
}
