/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/airlock_message.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* The part that is sent as octets; descriptors are numbered anew by the receiver's kernel. */
enum { MESSAGE_OCTETS = offsetof(struct airlock_message, fds) };

union control {
	struct cmsghdr header;
	char octets[CMSG_SPACE(SLOTS * sizeof(int))];
};

void airlock_message_init(struct airlock_message *m, enum airlock_message_kind kind)
{
	memset(m, 0, sizeof(*m));
	m->kind = kind;
	for (int i = 0; i < SLOTS; i++)
		m->fds[i] = -1;
}

int airlock_message_send(int sock, struct airlock_message *m)
{
	union control control = {0};
	struct iovec io = {.iov_base = m, .iov_len = MESSAGE_OCTETS};
	struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1};
	int present[SLOTS];
	size_t n = 0;
	ssize_t sent;

	m->slots = 0;
	for (int i = 0; i < SLOTS; i++)
		if (m->fds[i] >= 0) {
			m->slots |= 1U << i;
			present[n++] = m->fds[i];
		}
	if (n) {
		h.msg_control = control.octets;
		h.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.header), present, n * sizeof(int));
	}
	do {
		sent = sendmsg(sock, &h, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* How many descriptors came, at most SLOTS, copied to out. */
static size_t take_descriptors(const struct msghdr *h, int out[SLOTS])
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(h);
	size_t n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(out, CMSG_DATA(c), n * sizeof(int));
	return n;
}

/* Puts the descriptors into their slots. False when the number is not the one announced. */
static bool place_descriptors(struct airlock_message *m, const int *got, size_t n)
{
	size_t used = 0;

	for (int i = 0; i < SLOTS; i++) {
		m->fds[i] = -1;
		if ((m->slots & 1U << i) && used < n)
			m->fds[i] = got[used++];
	}
	for (size_t i = used; i < n; i++)
		close(got[i]);
	return used == n && (size_t)__builtin_popcount(m->slots) == n;
}

static int await(int sock, int timeout_ms)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int ready;

	do {
		ready = poll(&p, 1, timeout_ms);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return -errno;
	return ready == 0 ? -ETIMEDOUT : 0;
}

int airlock_message_receive(int sock, struct airlock_message *m, int timeout_ms)
{
	union control control = {0};
	struct iovec io = {.iov_base = m, .iov_len = MESSAGE_OCTETS};
	struct msghdr h = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.octets,
			   .msg_controllen = sizeof(control.octets)};
	int fds[SLOTS], error;
	ssize_t got;
	size_t n;

	airlock_message_init(m, 0);
	error = await(sock, timeout_ms);
	if (error < 0)
		return error;
	/*
	 * ECONNRESET is said once, of a peer that ended before it read all it was sent; what it had
	 * to say as the last thing comes after it (unix_release_sock() in net/unix/af_unix.c).
	 */
	do {
		got = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got <= 0)
		return got < 0 ? -errno : -EPIPE;
	n = take_descriptors(&h, fds);
	if (!place_descriptors(m, fds, n) || got != MESSAGE_OCTETS ||
	    (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		airlock_message_close_fds(m);
		return -EBADMSG;
	}
	m->err.text[sizeof(m->err.text) - 1] = '\0';
	return 0;
}

void airlock_message_close_fds(struct airlock_message *m)
{
	for (int i = 0; i < SLOTS; i++) {
		sg_cleanup_fd(&m->fds[i]);
		m->fds[i] = -1;
	}
}
