/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The watch is edge-triggered: `readable` and `writable` are true until a call says that it would
 * block, so no call is made to find out and none to change what is watched. Octets go by way of one
 * buffer for all links, and only what the codec or the socket did not take is kept, in memory of
 * that size; while something is kept, nothing more is read or produced. So a quiet link has no
 * buffer, and a stopped one has ROOM at most each way.
 *
 * An end is orderly when the codec says so: close_notify, then the end of the sending side, and
 * what the peer still sends is read and thrown away until it ends as well, since octets that nobody
 * read turn a close into a reset that can overtake the answer. Every other end is a reset
 * (SO_LINGER 0): that nobody takes it for one.
 */
#include "broker/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
	ROOM = 64 * 1024,
	AT_ONCE = 512 * 1024, /* then the others have their turn */
};

const int link_syscalls[] = {
	SCMP_SYS(read),	      SCMP_SYS(write), SCMP_SYS(recvfrom), SCMP_SYS(sendto),
	SCMP_SYS(setsockopt), SCMP_SYS(close), SCMP_SYS(shutdown), -1,
};

/*
 * The process has one thread. What goes out may hold a credential, and what comes an echo of it:
 * both are wiped.
 */
static uint8_t buffer[ROOM];

static void set_linger(int fd, bool reset)
{
	const struct linger l = {.l_onoff = reset, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

void link_reset_socket(int fd)
{
	set_linger(fd, true);
	close(fd);
}

int link_open(struct link *l, struct loop *loop, int fd, watch_fn *ready)
{
	const int on = 1;
	int r;

	*l = (struct link){.watch = {.ready = ready, .fd = -1},
			   .readable = true,
			   .writable = true,
			   .may_receive = UINT64_MAX,
			   .sent_at = mono_now()};
	set_linger(fd, true);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	r = loop_add(loop, &l->watch, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	if (r != 0)
		close(fd);
	return r;
}

void link_note(struct link *l, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		l->readable = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		l->writable = true;
}

enum tls_result link_handshake(struct link *l)
{
	return l->tls ? tls_handshake(l->tls) : TLS_DONE;
}

/* ---- What is kept ---- */

static void drop_kept(struct link_kept *k)
{
	if (k->p)
		explicit_bzero(k->p, k->at + k->n);
	free(k->p);
	*k = (struct link_kept){0};
}

static bool keep(struct link_kept *k, struct span octets)
{
	uint8_t *p;

	if (octets.n == 0)
		return true;
	p = malloc(octets.n);
	if (!p)
		return false;
	memcpy(p, octets.p, octets.n);
	*k = (struct link_kept){.p = p, .n = octets.n};
	return true;
}

static void take_kept(struct link_kept *k, size_t n)
{
	k->at += n;
	k->n -= n;
	if (k->n == 0)
		drop_kept(k);
}

static struct span kept(const struct link_kept *k)
{
	return span_of(k->p ? k->p + k->at : NULL, k->n);
}

/* ---- The socket ---- */

static enum tls_result read_plain(int fd, struct buf *into)
{
	ssize_t n = recv(fd, into->p + into->n, into->cap - into->n, 0);

	if (n > 0) {
		into->n += (size_t)n;
		return TLS_DONE;
	}
	if (n == 0)
		return TLS_CLOSED;
	return errno == EAGAIN || errno == EINTR ? TLS_WANT_READ : TLS_FAILED;
}

static enum tls_result read_some(struct link *l, struct buf *into)
{
	return l->tls ? tls_read(l->tls, into) : read_plain(l->watch.fd, into);
}

static enum tls_result write_plain(int fd, struct span octets, size_t *written)
{
	ssize_t n = send(fd, octets.p, octets.n, MSG_NOSIGNAL);

	*written = n > 0 ? (size_t)n : 0;
	if (n >= 0)
		return *written == octets.n ? TLS_DONE : TLS_WANT_WRITE;
	return errno == EAGAIN || errno == EINTR ? TLS_WANT_WRITE : TLS_FAILED;
}

static enum tls_result write_some(struct link *l, struct span octets, size_t *written)
{
	*written = 0;
	return l->tls ? tls_write(l->tls, octets, written)
		      : write_plain(l->watch.fd, octets, written);
}

/* What a step waits for; either may come from any. */
static void note_want(struct link *l, enum tls_result r)
{
	if (r == TLS_WANT_READ)
		l->readable = false;
	if (r == TLS_WANT_WRITE)
		l->writable = false;
}

/* ---- Receiving ---- */

static void break_link(struct link *l)
{
	l->broken = l->read_over = l->write_over = true;
	drop_kept(&l->in);
	drop_kept(&l->out);
}

/* Once the codec has found fault, all that still comes is for nobody. */
static struct span feed(struct link *l, struct span octets)
{
	size_t taken = 0;

	if (l->deaf || !l->codec)
		return span_of(NULL, 0);
	if (l->codec->ops->receive(l->codec, octets, &taken) != CODEC_OK) {
		l->deaf = true;
		return span_of(NULL, 0);
	}
	return span_of(octets.p + taken, octets.n - taken);
}

static bool feed_kept(struct link *l)
{
	size_t before = l->in.n, left;

	if (before == 0)
		return false;
	left = feed(l, kept(&l->in)).n;
	take_kept(&l->in, before - left);
	return left < before;
}

static void end_reading(struct link *l)
{
	bool orderly = !l->tls || tls_ended_orderly(l->tls);

	l->read_over = true;
	l->readable = false;
	if (!l->codec || l->deaf)
		return;
	if (orderly)
		l->codec->ops->receive_end(l->codec);
	else if (!l->codec->ops->idle(l->codec))
		break_link(l);
	else
		l->codec->ops->shut(l->codec);
}

/* True: read on. */
static bool read_once(struct link *l)
{
	uint64_t may = l->may_receive - l->received;
	struct buf b = buf_of(buffer, may < sizeof(buffer) ? (size_t)may : sizeof(buffer));
	enum tls_result r = read_some(l, &b);
	struct span rest;

	note_want(l, r);
	if (b.n) {
		l->octets += b.n;
		l->received += b.n;
		rest = feed(l, buf_span(&b));
		if (!keep(&l->in, rest))
			break_link(l);
		explicit_bzero(buffer, b.n);
	}
	if (r == TLS_FAILED)
		break_link(l);
	if (r == TLS_CLOSED && !l->in.n)
		end_reading(l);
	return b.n && !l->in.n && r == TLS_DONE;
}

static bool has_more(const struct link *l)
{
	return l->readable || (l->tls && tls_has_more(l->tls));
}

bool link_is_held(const struct link *l)
{
	return l->codec && !l->in.n && !l->read_over && has_more(l) &&
	       l->received == l->may_receive;
}

bool link_receive(struct link *l)
{
	uint64_t before = l->octets;
	bool was_over = l->read_over, moved = feed_kept(l);

	if (l->in.n || l->read_over || !l->codec)
		return moved;
	while (has_more(l) && l->received < l->may_receive && l->octets - before < AT_ONCE)
		if (!read_once(l))
			break;
	return moved || l->octets != before || l->read_over != was_over;
}

/* ---- Sending ---- */

static void stop_sending(struct link *l)
{
	l->write_over = true;
	drop_kept(&l->out);
}

static bool send_octets(struct link *l, struct span octets, size_t *n)
{
	enum tls_result r = write_some(l, octets, n);

	note_want(l, r);
	l->octets += *n;
	if (*n)
		l->sent_at = mono_now();
	/* What the server said before it closed may still be there to be read. */
	if (r == TLS_FAILED || r == TLS_CLOSED)
		stop_sending(l);
	return !l->write_over;
}

static bool send_kept(struct link *l)
{
	size_t n = 0;

	if (l->out.n == 0 || !l->writable)
		return false;
	if (send_octets(l, kept(&l->out), &n))
		take_kept(&l->out, n);
	return n > 0 || l->write_over;
}

static bool produce_once(struct link *l)
{
	struct buf b = buf_of(buffer, sizeof(buffer));
	size_t n = 0;

	l->codec->ops->produce(l->codec, &b);
	if (b.n == 0)
		return false;
	if (send_octets(l, buf_span(&b), &n) && !keep(&l->out, span_of(buffer + n, b.n - n)))
		break_link(l);
	explicit_bzero(buffer, b.n);
	return true;
}

/* After the last octet. */
static bool send_end(struct link *l)
{
	if (l->codec->cut) {
		break_link(l);
		return true;
	}
	if (l->tls) {
		enum tls_result r = tls_close(l->tls);

		note_want(l, r);
		if (r == TLS_WANT_READ || r == TLS_WANT_WRITE)
			return false;
	}
	set_linger(l->watch.fd, false);
	shutdown(l->watch.fd, SHUT_WR);
	l->write_over = true;
	if (!l->codec->persistent && l->codec->ops->idle(l->codec))
		l->deaf = true;
	return true;
}

static bool has_said_all(const struct link *l)
{
	return !l->out.n && l->codec->finished;
}

bool link_send(struct link *l)
{
	uint64_t before = l->octets;
	bool moved = send_kept(l), produced = true;

	if (!l->codec || l->write_over || l->out.n)
		return moved;
	while (produced && l->writable && !l->write_over && !l->out.n &&
	       l->octets - before < AT_ONCE) {
		produced = produce_once(l);
		moved = moved || produced;
	}
	if (!produced && !l->write_over && has_said_all(l))
		moved = send_end(l) || moved;
	return moved;
}

/* ---- Ends ---- */

bool link_is_over(const struct link *l)
{
	return l->broken || (l->read_over && l->write_over && !l->in.n);
}

void link_close(struct link *l, struct loop *loop)
{
	if (l->codec)
		l->codec->ops->free(l->codec);
	tls_free(l->tls);
	drop_kept(&l->in);
	drop_kept(&l->out);
	l->codec = NULL;
	l->tls = NULL;
	loop_close(loop, &l->watch);
}
