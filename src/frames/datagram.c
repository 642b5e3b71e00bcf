/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 *	nobody		the first sender that is this person's is the machine: the socket is connected to
 *			its address, from then on the kernel refuses what anybody else sends
 *	a machine	its datagrams go to the tap device, the device's frames to it. What its queue
 *			does not take waits in `to`, and the device is not read meanwhile
 *
 * A datagram socket is not told when its peer closes. Once a second it is connected again to the same
 * address: to the same peer that changes nothing; a new one that has bound there takes the place of
 * the old; and when nobody holds the address any more, there is nobody.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "frames/carrier.h"
#include "frames/framing.h"

static struct {
	bool there;
	struct sockaddr_un address;
	socklen_t address_n;
	mono_t checked;	    /* when it was last seen to be there */
	size_t to_at, to_n; /* frames sent of `to`, and in it */
	size_t length[CARRIER_FRAMES];
	uint8_t from[CARRIER_OCTETS];
	uint8_t to[CARRIER_OCTETS];
} machine;

int datagram_prepare(const struct carrier *c)
{
	int on = 1;

	return setsockopt(c->setup->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ? -errno
											  : 0;
}

static bool owes(void)
{
	return machine.there && machine.to_at < machine.to_n;
}

int datagram_wait(struct carrier *c, struct pollfd *f)
{
	f[WAIT_SOCKET].fd = c->setup->socket;
	f[WAIT_SOCKET].events = owes() ? POLLIN | POLLOUT : POLLIN;
	f[WAIT_TAP].fd = machine.there && !owes() ? c->setup->tap : -1;
	f[WAIT_TAP].events = POLLIN;
	return machine.there ? CARRIER_CHECK_MS : -1;
}

/* Octets that a slot of a buffer has, and slots: of the MTU of now, so that long frames fit too. */
static size_t slot_octets(const struct carrier *c)
{
	return c->setup->mtu + FRAME_SHORTEST + FRAME_TAG;
}

static size_t slots(const struct carrier *c)
{
	size_t n = CARRIER_OCTETS / slot_octets(c);

	return n < CARRIER_FRAMES ? n : CARRIER_FRAMES;
}

/* ---- who it is ---- */

static bool connect_to_machine(const struct carrier *c)
{
	return connect(c->setup->socket, (const struct sockaddr *)&machine.address,
		       machine.address_n) == 0;
}

static void forget_machine(const struct carrier *c)
{
	static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

	(void)!connect(c->setup->socket, &nobody, sizeof(nobody));
	c->setup->counters->lost += machine.to_n - machine.to_at;
	machine.there = false;
}

static void check_machine(const struct carrier *c)
{
	mono_t now = mono_now();

	if (!machine.there || mono_before(now, mono_add_ms(machine.checked, CARRIER_CHECK_MS)))
		return;
	machine.checked = now;
	if (!connect_to_machine(c))
		forget_machine(c);
}

/* The uid of the sender, as the kernel says it; false when it does not. */
static bool find_sender(struct msghdr *m, uid_t *out)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		struct ucred who;

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&who, CMSG_DATA(h), sizeof(who));
		*out = who.uid;
		return true;
	}
	return false;
}

/* The first datagram of somebody: true when it is the machine from here on. */
static bool meet(struct carrier *c, struct msghdr *m)
{
	uid_t uid = (uid_t)-1;

	if (!find_sender(m, &uid) || !carrier_is_own(uid)) {
		carrier_tell_stranger(c, uid);
		return false;
	}
	machine.address_n = m->msg_namelen;
	/* One without an address of its own could not be answered. */
	errno = EDESTADDRREQ;
	if (machine.address_n <= sizeof(sa_family_t) || !connect_to_machine(c)) {
		carrier_tell_unanswerable(c, errno);
		return false;
	}
	carrier_forget_waiting(c);
	machine.there = true;
	machine.checked = mono_now();
	machine.to_at = machine.to_n = 0;
	return true;
}

static void await_machine(struct carrier *c)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(sizeof(struct ucred))];
	} who = {0};
	struct iovec part = {machine.from, slot_octets(c)};
	struct msghdr m = {
		.msg_name = &machine.address,
		.msg_namelen = sizeof(machine.address),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &who,
		.msg_controllen = sizeof(who),
	};
	ssize_t n = recvmsg(c->setup->socket, &m, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return;
	if (meet(c, &m))
		carrier_put_out(c, machine.from, (size_t)n);
	else
		c->setup->counters->refused++;
}

/* ---- frames ---- */

static bool is_from_machine(const struct msghdr *m, const struct sockaddr_un *from)
{
	return m->msg_namelen == machine.address_n &&
	       memcmp(from, &machine.address, machine.address_n) == 0;
}

/* What was sent before the socket was connected may be another's. */
static void put_out_all(struct carrier *c)
{
	static struct sockaddr_un from[CARRIER_FRAMES];
	struct iovec part[CARRIER_FRAMES];
	struct mmsghdr message[CARRIER_FRAMES] = {0};
	size_t n_slots = slots(c), size = slot_octets(c);
	int n;

	for (size_t i = 0; i < n_slots; i++) {
		part[i] = (struct iovec){machine.from + i * size, size};
		message[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
						     .msg_namelen = sizeof(from[i]),
						     .msg_iov = &part[i],
						     .msg_iovlen = 1};
	}
	n = recvmmsg(c->setup->socket, message, (unsigned)n_slots, MSG_DONTWAIT | MSG_TRUNC, NULL);
	for (int i = 0; i < n; i++) {
		if (is_from_machine(&message[i].msg_hdr, &from[i]))
			carrier_put_out(c, part[i].iov_base, message[i].msg_len);
		else
			c->setup->counters->refused++;
	}
}

/* Fills `to`, which is empty. */
static void take_in(struct carrier *c)
{
	size_t size = slot_octets(c), n_slots = slots(c);

	machine.to_at = machine.to_n = 0;
	while (machine.to_n < n_slots) {
		size_t n = carrier_take_in(c, machine.to + machine.to_n * size, size);

		if (n == 0)
			break;
		machine.length[machine.to_n++] = n;
	}
}

static void send_owed(struct carrier *c)
{
	struct iovec part[CARRIER_FRAMES];
	struct mmsghdr message[CARRIER_FRAMES] = {0};
	size_t n = machine.to_n - machine.to_at;
	int sent;

	for (size_t i = 0; i < n; i++) {
		size_t slot = machine.to_at + i;

		part[i] = (struct iovec){machine.to + slot * slot_octets(c), machine.length[slot]};
		message[i].msg_hdr.msg_iov = &part[i];
		message[i].msg_hdr.msg_iovlen = 1;
	}
	sent = sendmmsg(c->setup->socket, message, (unsigned)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent > 0) {
		machine.to_at += (size_t)sent;
		c->setup->counters->in += (uint64_t)sent;
	} else if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
		forget_machine(c);
	}
}

void datagram_turn(struct carrier *c, const struct pollfd *f)
{
	check_machine(c);
	if (f[WAIT_SOCKET].revents & ~POLLOUT) {
		if (machine.there)
			put_out_all(c);
		else
			await_machine(c);
	}
	if (machine.there && f[WAIT_TAP].revents && !owes())
		take_in(c);
	if (owes())
		send_owed(c);
}
