/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/control/control_socket.h"
#include "sandbox/control/control_wire.h"

/* READING → (answered) → WRITING → READING; a closed one has fd -1. */
struct connection {
	int fd;
	struct ucred who;
	mono_t deadline;
	uint8_t *in; /* CONTROL_HEAD + CONTROL_REQUEST_MAX octets at most, grown when the head is in
		      */
	size_t in_n, in_cap;
	uint8_t *out; /* an answer; NULL while reading */
	size_t out_n, out_at;
};

struct control {
	int listener;
	control_answer_fn *answer;
	void *ctx;
	struct connection v[CONTROL_CONNECTIONS];
};

struct control *control_open(int dir, control_answer_fn *answer, void *ctx, struct err *e)
{
	struct control *c = calloc(1, sizeof(*c));

	if (!c) {
		err_set(e, "out of memory");
		return NULL;
	}
	c->answer = answer;
	c->ctx = ctx;
	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
		c->v[i].fd = -1;
	c->listener = control_socket_listen(dir, CONTROL_SOCKET);
	if (c->listener >= 0)
		return c;
	err_set(e, "the control socket: %s", err_why(-c->listener));
	free(c);
	return NULL;
}

size_t control_poll(const struct control *c, struct pollfd *out)
{
	size_t n = 0;

	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
		if (c->v[i].fd >= 0)
			out[n++] = (struct pollfd){.fd = c->v[i].fd,
						   .events = c->v[i].out ? POLLOUT : POLLIN};
	if (n < CONTROL_CONNECTIONS)
		out[n++] = (struct pollfd){.fd = c->listener, .events = POLLIN};
	return n;
}

static void drop(struct connection *k)
{
	close(k->fd);
	free(k->in);
	free(k->out);
	*k = (struct connection){.fd = -1};
}

static struct connection *find(struct control *c, int fd)
{
	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
		if (c->v[i].fd == fd)
			return &c->v[i];
	return NULL;
}

static void take_new(struct control *c, mono_t now)
{
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *k = find(c, -1);
	struct ucred who;

	if (fd < 0)
		return;
	if (!k || !control_socket_peer_is_own(fd, &who)) {
		close(fd);
		return;
	}
	k->fd = fd;
	k->who = who;
	k->deadline = mono_add_ms(now, CONTROL_DEADLINE_MS);
}

/* How many octets the message has in all, as far as is known. False: more than is taken. */
static bool wanted(const struct connection *k, size_t *n)
{
	uint32_t body;

	*n = CONTROL_HEAD;
	if (k->in_n < CONTROL_HEAD)
		return true;
	body = control_read_head(k->in);
	*n += body;
	return body <= CONTROL_REQUEST_MAX;
}

static bool answer(struct control *c, struct connection *k)
{
	json_t *request = control_decode(k->in + CONTROL_HEAD, k->in_n - CONTROL_HEAD);
	json_t *reply;

	if (request)
		reply = c->answer(c->ctx, request, &k->who);
	else
		reply = json_pack("{s:s}", "error", "the request is not a JSON object");
	json_decref(request);
	k->in_n = 0;
	k->out_at = 0;
	k->out = reply ? control_encode(reply, CONTROL_ANSWER_MAX, &k->out_n) : NULL;
	/* What was done is told, also when it took long. */
	k->deadline = mono_add_ms(mono_now(), CONTROL_DEADLINE_MS);
	json_decref(reply);
	return k->out != NULL;
}

static bool read_some(struct control *c, struct connection *k)
{
	size_t n;
	ssize_t r;

	if (!wanted(k, &n))
		return false;
	if (n > k->in_cap) {
		uint8_t *p = realloc(k->in, n);

		if (!p)
			return false;
		k->in = p;
		k->in_cap = n;
	}
	r = read(k->fd, k->in + k->in_n, n - k->in_n);
	if (r < 0)
		return errno == EAGAIN || errno == EINTR;
	if (r == 0 && n > k->in_n)
		return false;
	k->in_n += (size_t)r;
	if (!wanted(k, &n))
		return false;
	return k->in_n < n || answer(c, k);
}

static bool write_some(struct connection *k, mono_t now)
{
	ssize_t r = send(k->fd, k->out + k->out_at, k->out_n - k->out_at, MSG_NOSIGNAL);

	if (r < 0)
		return errno == EAGAIN || errno == EINTR;
	k->out_at += (size_t)r;
	if (k->out_at < k->out_n)
		return true;
	free(k->out);
	k->out = NULL;
	k->deadline = mono_add_ms(now, CONTROL_DEADLINE_MS);
	return true;
}

void control_serve(struct control *c, const struct pollfd *fds, size_t n, mono_t now)
{
	for (size_t i = 0; i < n; i++) {
		struct connection *k = fds[i].fd == c->listener ? NULL : find(c, fds[i].fd);

		if (!fds[i].revents)
			continue;
		if (fds[i].fd == c->listener)
			take_new(c, now);
		else if (k && !(k->out ? write_some(k, now) : read_some(c, k)))
			drop(k);
	}
	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
		if (c->v[i].fd >= 0 && !mono_before(now, c->v[i].deadline))
			drop(&c->v[i]);
}

bool control_next_deadline(const struct control *c, mono_t *at)
{
	bool any = false;

	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
		if (c->v[i].fd < 0 || (any && !mono_before(c->v[i].deadline, *at)))
			continue;
		*at = c->v[i].deadline;
		any = true;
	}
	return any;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
		if (c->v[i].fd >= 0)
			drop(&c->v[i]);
	close(c->listener);
	free(c);
}
