/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Longest request with its attributes: a veth pair, about 300 octets. */
enum { NL_REQUEST_OCTETS_MAX = 512 };

int nl_open(struct nl *n, int bus)
{
	struct sockaddr_nl self = {.nl_family = AF_NETLINK};

	n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, bus);
	if (n->fd < 0)
		return -errno;
	if (bind(n->fd, (struct sockaddr *)&self, sizeof(self)) < 0) {
		int error = -errno;

		nl_close(n);
		return error;
	}
	n->seq = 1;
	n->n = 0;
	n->octets = 0;
	n->failed = NULL;
	return 0;
}

void nl_close(struct nl *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* The queue's length with the last request, whose attributes the caller has put since. */
static void close_last(struct nl *n)
{
	const struct nlmsghdr *last = (const struct nlmsghdr *)(n->queue + n->octets);

	if (n->n > 0)
		n->octets += NLMSG_ALIGN(last->nlmsg_len);
}

struct nlmsghdr *nl_begin(struct nl *n, uint16_t type, uint16_t flags, const char *doing)
{
	struct nlmsghdr *h;

	close_last(n);
	if (n->n >= NL_REQUESTS_MAX || NL_QUEUE_OCTETS - n->octets < NL_REQUEST_OCTETS_MAX)
		abort();
	memset(n->queue + n->octets, 0, NL_REQUEST_OCTETS_MAX);
	h = mnl_nlmsg_put_header(n->queue + n->octets);
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = n->seq + (uint32_t)n->n;
	n->doing[n->n++] = doing;
	return h;
}

static int send_queue(struct nl *n)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t sent;

	close_last(n);
	sent = sendto(n->fd, n->queue, n->octets, 0, (struct sockaddr *)&kernel, sizeof(kernel));
	if (sent < 0)
		return -errno;
	return (size_t)sent == n->octets ? 0 : -EIO;
}

/* Forgets the queue. Answers still under way have sequence numbers that no later one has. */
static void forget_queue(struct nl *n)
{
	n->seq += (uint32_t)n->n;
	n->n = 0;
	n->octets = 0;
}

static ssize_t receive(struct nl *n)
{
	struct sockaddr_nl from = {0};
	struct iovec io = {.iov_base = n->answer, .iov_len = sizeof(n->answer)};
	struct msghdr m = {
		.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &io, .msg_iovlen = 1};
	ssize_t got;

	do {
		got = recvmsg(n->fd, &m, 0);
	} while ((got < 0 && errno == EINTR) || (got >= 0 && from.nl_pid != 0));
	if (got < 0)
		return -errno;
	return m.msg_flags & MSG_TRUNC ? -EMSGSIZE : got;
}

/* The error that an acknowledgement carries, 0 for success. */
static int ack_error(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*e))
		return -EBADMSG;
	return e->error;
}

/* Takes the acknowledgements in one datagram; counts them into *answered. */
static int take_acks(struct nl *n, ssize_t got, size_t *answered)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)n->answer;
	int left = (int)got, first = 0;

	for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		uint32_t at = h->nlmsg_seq - n->seq;
		int error;

		if (h->nlmsg_type != NLMSG_ERROR || at >= n->n)
			continue;
		error = ack_error(h);
		if (error && !n->failed) {
			n->failed = n->doing[at];
			first = error;
		}
		++*answered;
	}
	return first;
}

int nl_run(struct nl *n)
{
	size_t answered = 0;
	int error, result = 0;

	n->failed = NULL;
	for (size_t at = 0, i = 0; i < n->n; i++) {
		struct nlmsghdr *h = (struct nlmsghdr *)(n->queue + at);

		h->nlmsg_flags |= NLM_F_ACK;
		at += NLMSG_ALIGN(h->nlmsg_len);
	}
	error = send_queue(n);
	if (error < 0)
		n->failed = n->doing[0];
	while (error >= 0 && answered < n->n) {
		ssize_t got = receive(n);

		error = got < 0 ? (int)got : 0;
		if (got >= 0) {
			int refused = take_acks(n, got, &answered);

			result = result ? result : refused;
		}
	}
	forget_queue(n);
	return result ? result : error;
}

const struct nlmsghdr *nl_ask(struct nl *n, int *error)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)n->answer;
	ssize_t got = 0;

	n->failed = NULL;
	*error = send_queue(n);
	do {
		if (*error == 0)
			got = receive(n);
		if (*error == 0 && got < 0)
			*error = (int)got;
		if (*error == 0 && !mnl_nlmsg_ok(h, (int)got))
			*error = -EBADMSG;
	} while (*error == 0 && h->nlmsg_seq != n->seq);
	if (*error == 0 && h->nlmsg_type == NLMSG_ERROR)
		*error = ack_error(h) ? ack_error(h) : -ENODATA;
	if (*error < 0)
		n->failed = n->doing[0];
	forget_queue(n);
	return *error < 0 ? NULL : h;
}

/* The messages of one datagram. Sets *done at the end of the dump. */
static int take_part(struct nl *n, ssize_t got, nl_each_fn *fn, void *ctx, bool *done)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)n->answer;
	int left = (int)got, r = 0;

	for (; r == 0 && !*done && mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		if (h->nlmsg_seq != n->seq)
			continue;
		if (h->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EINTR;
		*done = h->nlmsg_type == NLMSG_DONE;
		if (h->nlmsg_type == NLMSG_ERROR)
			r = ack_error(h) ? ack_error(h) : -EBADMSG;
		else if (!*done)
			r = fn(ctx, h);
	}
	return r;
}

int nl_dump(struct nl *n, nl_each_fn *fn, void *ctx)
{
	bool done = false;
	int r = send_queue(n);

	n->failed = NULL;
	while (r == 0 && !done) {
		ssize_t got = receive(n);

		r = got < 0 ? (int)got : take_part(n, got, fn, ctx, &done);
	}
	if (r != 0)
		n->failed = n->doing[0];
	forget_queue(n);
	return r;
}
