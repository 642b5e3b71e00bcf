/* SPDX-License-Identifier: Apache-2.0 */
#include "io/requests.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "io/passed_fd.h"

enum { MESSAGE_MAX = 1024 * 1024 };

const int requests_syscalls[] = {SCMP_SYS(sendto), SCMP_SYS(close), -1};

struct requests {
	struct watch watch;
	struct loop *loop;
	const struct request_kind *kinds;
	size_t n_kinds;
	void *ctx;
	char *message; /* MESSAGE_MAX octets, touched as far as messages are long */
};

static bool send_object(int fd, json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);
	bool sent = false;

	if (text) {
		size_t n = strlen(text);

		sent = send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n;
	}
	free(text);
	json_decref(o);
	return sent;
}

static json_t *answer_one(struct requests *r, const char *op, const struct request *what)
{
	for (size_t i = 0; op && i < r->n_kinds; i++)
		if (strcmp(r->kinds[i].op, op) == 0)
			return r->kinds[i].takes_descriptor == (what->passed >= 0)
				       ? r->kinds[i].answer(r->ctx, what)
				       : NULL;
	return NULL;
}

static void answer(struct requests *r, json_t *object, int passed)
{
	const char *op = json_string_value(json_object_get(object, "op"));
	struct err e = {""};
	json_t *o =
		answer_one(r, op, &(struct request){.object = object, .passed = passed, .e = &e});

	if (o)
		json_object_set_new(o, "ok", json_true());
	else
		o = json_pack("{s:b, s:o}", "ok", 0, "why",
			      e.text[0] ? json_string(e.text) : json_null());
	json_object_set_new(o, "op", json_string(op ? op : ""));
	send_object(r->watch.fd, o);
}

static void ready(struct watch *w, uint32_t events)
{
	struct requests *r = sg_container_of(w, struct requests, watch);
	int passed;
	ssize_t n = passed_fd_receive(w->fd, r->message, MESSAGE_MAX, &passed);
	json_t *object;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		loop_stop(r->loop);
		return;
	}
	object = json_loadb(r->message, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	/* There may be a secret in it. */
	explicit_bzero(r->message, (size_t)n);
	if (object)
		answer(r, object, passed);
	json_decref(object);
	if (passed >= 0)
		close(passed);
}

struct requests *requests_new(struct loop *l, int fd, const struct request_kind *kinds, size_t n,
			      void *ctx)
{
	struct requests *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	/* jansson reads /dev/urandom when it first makes an object: here, before isolation. */
	json_object_seed(0);
	*r = (struct requests){.watch = {.ready = ready, .fd = -1},
			       .loop = l,
			       .kinds = kinds,
			       .n_kinds = n,
			       .ctx = ctx};
	r->message = malloc(MESSAGE_MAX);
	if (!r->message || loop_add(l, &r->watch, fd, EPOLLIN) != 0) {
		free(r->message);
		free(r);
		return NULL;
	}
	return r;
}

void requests_free(struct requests *r)
{
	if (!r)
		return;
	loop_close(r->loop, &r->watch);
	free(r->message);
	free(r);
}

bool requests_say(struct requests *r, json_t *message)
{
	return send_object(r->watch.fd, message);
}

void requests_say_failed(int fd, const struct err *e)
{
	send_object(fd, json_pack("{s:s, s:s}", "op", "failed", "why", e->text));
}
