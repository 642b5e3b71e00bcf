/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * One client at a time; while there is one, others wait in the kernel's queue. What it sends is read
 * into `from`, in which at most one frame is not whole: its whole ones go to the tap device before
 * the next read. What is for it is read from the device into `to`, as much as a turn allows, and sent
 * in one call; until all of that is gone the device is not read, so that a client that does not read
 * loses frames at the device's queue, as on any link, and no memory grows.
 *
 * With a length that is none, the octets that follow cannot be told apart: the client is cut off.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "frames/carrier.h"
#include "frames/framing.h"

static struct {
	bool there;
	int fd;
	size_t from_n;	    /* octets in `from` */
	size_t to_at, to_n; /* sent of `to`, and in it */
	size_t to_frames;
	uint8_t from[CARRIER_OCTETS];
	uint8_t to[CARRIER_OCTETS];
} client;

int stream_wait(struct carrier *c, struct pollfd *f)
{
	bool owed = client.there && client.to_at < client.to_n;

	f[WAIT_SOCKET].fd = client.there ? client.fd : c->setup->socket;
	f[WAIT_SOCKET].events = owed ? POLLIN | POLLOUT : POLLIN;
	f[WAIT_TAP].fd = client.there && !owed ? c->setup->tap : -1;
	f[WAIT_TAP].events = POLLIN;
	return -1;
}

static void accept_client(struct carrier *c)
{
	int fd = accept4(c->setup->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct ucred who = {0};
	socklen_t n = sizeof(who);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || !carrier_is_own(who.uid)) {
		carrier_tell_stranger(c, who.uid);
		close(fd);
		return;
	}
	carrier_forget_waiting(c);
	client.there = true;
	client.fd = fd;
	client.from_n = client.to_at = client.to_n = client.to_frames = 0;
}

static void drop_client(struct carrier *c)
{
	c->setup->counters->lost += client.to_frames;
	close(client.fd);
	client.there = false;
}

/* What of `from` is whole; false at a lie. */
static bool put_out_whole(struct carrier *c)
{
	struct span left = span_of(client.from, client.from_n), frame;
	enum framing r;
	size_t used;

	while ((r = framing_next(left, c->setup->mtu, &frame, &used)) == FRAMING_FRAME ||
	       r == FRAMING_REFUSED) {
		carrier_put_out(c, frame.p, frame.n);
		left = span_of(left.p + used, left.n - used);
	}
	if (r == FRAMING_LIE) {
		c->setup->counters->refused++;
		carrier_tell_lie(c, (uint32_t)frame.n);
		return false;
	}
	memmove(client.from, left.p, left.n);
	client.from_n = left.n;
	return true;
}

static void read_client(struct carrier *c)
{
	ssize_t n = recv(client.fd, client.from + client.from_n,
			 sizeof(client.from) - client.from_n, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop_client(c);
		return;
	}
	client.from_n += (size_t)n;
	if (!put_out_whole(c))
		drop_client(c);
}

/* Fills `to`, which is empty. */
static void take_in(struct carrier *c)
{
	size_t room = c->setup->mtu + FRAME_SHORTEST + FRAME_TAG + FRAMING_LENGTH;

	client.to_at = client.to_n = client.to_frames = 0;
	while (client.to_frames < CARRIER_FRAMES && sizeof(client.to) - client.to_n >= room) {
		uint8_t *at = client.to + client.to_n;
		size_t n = carrier_take_in(c, at + FRAMING_LENGTH, room - FRAMING_LENGTH);
		struct buf length = buf_of(at, FRAMING_LENGTH);

		if (n == 0)
			break;
		buf_put_u32(&length, (uint32_t)n);
		client.to_n += FRAMING_LENGTH + n;
		client.to_frames++;
	}
}

static void send_owed(struct carrier *c)
{
	ssize_t n = send(client.fd, client.to + client.to_at, client.to_n - client.to_at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		drop_client(c);
		return;
	}
	client.to_at += (size_t)n;
	if (client.to_at == client.to_n) {
		c->setup->counters->in += client.to_frames;
		client.to_frames = 0;
	}
}

void stream_turn(struct carrier *c, const struct pollfd *f)
{
	if (!client.there) {
		if (f[WAIT_SOCKET].revents)
			accept_client(c);
		return;
	}
	if (f[WAIT_SOCKET].revents & ~POLLOUT)
		read_client(c);
	if (client.there && f[WAIT_TAP].revents)
		take_in(c);
	if (client.there && client.to_at < client.to_n)
		send_owed(c);
}
