/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/tun.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>

#include "gate/fragments.h"

/* Packets read in one turn: a flood must not keep the other watches waiting. */
enum { PACKETS_A_TURN = 64 };

struct tun {
	struct watch watch;
	struct loop *loop;
	tun_packet_fn *fn;
	tun_run_end_fn *end;
	void *ctx;
	struct buf out;
	uint32_t mtu;	  /* 0: whatever is built fits */
	uint32_t next_id; /* of a packet that is cut */
	uint8_t in_octets[IP_PACKET_MAX];
	uint8_t out_octets[IP_PACKET_MAX];
	uint8_t piece[IP_PACKET_MAX];
};

const int tun_syscalls[] = {SCMP_SYS(read), SCMP_SYS(write), -1};

static void tun_ready(struct watch *w, uint32_t events)
{
	struct tun *t = sg_container_of(w, struct tun, watch);

	for (int i = 0; i < PACKETS_A_TURN; i++) {
		ssize_t n = read(t->watch.fd, t->in_octets, sizeof(t->in_octets));

		if (n <= 0) {
			/* EBADFD: the device is gone with its airlock, and nothing can come any
			 * more. */
			if (n < 0 && errno != EAGAIN && errno != EINTR)
				loop_stop(t->loop);
			break;
		}
		t->fn(t->ctx, span_of(t->in_octets, (size_t)n));
	}
	t->end(t->ctx);
}

struct tun *tun_new(struct loop *l, int fd, tun_packet_fn *fn, tun_run_end_fn *end, void *ctx)
{
	struct tun *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->loop = l;
	t->fn = fn;
	t->end = end;
	t->ctx = ctx;
	t->watch.ready = tun_ready;
	if (loop_add(l, &t->watch, fd, EPOLLIN) != 0) {
		free(t);
		return NULL;
	}
	return t;
}

struct buf *tun_begin(struct tun *t)
{
	t->out = buf_of(t->out_octets, sizeof(t->out_octets));
	return &t->out;
}

void tun_set_mtu(struct tun *t, uint32_t mtu)
{
	t->mtu = mtu;
}

static void send_cut(struct tun *t)
{
	uint32_t id = ++t->next_id;
	size_t at = 0;

	do {
		struct buf b = buf_of(t->piece, sizeof(t->piece));

		at = fragments_cut(buf_span(&t->out), t->mtu, id, at, &b);
		tun_write(t, buf_span(&b));
	} while (at);
}

void tun_send(struct tun *t)
{
	if (t->out.full)
		return;
	if (t->mtu && t->out.n > t->mtu)
		send_cut(t);
	else
		tun_write(t, buf_span(&t->out));
}

void tun_write(struct tun *t, struct span packet)
{
	ssize_t n;

	do
		n = write(t->watch.fd, packet.p, packet.n);
	while (n < 0 && errno == EINTR);
}
