/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/control/control_socket.h"
#include "sandbox/control/control_wire.h"
#include "sandbox/name_list.h"
#include "sandbox/runtime_dir.h"

enum { CONNECT_STEP_MS = 5 };

/* --- names --- */

static void add_name(void *ctx, const char *name)
{
	name_list_add(ctx, name);
}

char **client_list_names(struct err *e)
{
	struct registry r;
	struct name_list l = {0};
	int rc = registry_open(&r, false, e);

	if (rc == 0) {
		rc = registry_each(&r, add_name, &l, e);
		registry_close(&r);
	}
	if (rc == 0 || rc == -ENOENT)
		return name_list_finish(&l, e);
	name_list_free(l.v);
	return NULL;
}

void client_free_names(char **names)
{
	name_list_free(names);
}

/* --- one question --- */

static int send_all(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t w = send(fd, p, n, MSG_NOSIGNAL);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static int read_all(int fd, uint8_t *p, size_t n, mono_t deadline)
{
	while (n) {
		struct pollfd f = {.fd = fd, .events = POLLIN};
		int64_t left = mono_ms_until(mono_now(), deadline);
		ssize_t r;

		if (left <= 0 || poll(&f, 1, (int)left) == 0)
			return -ETIMEDOUT;
		r = recv(fd, p, n, MSG_DONTWAIT);
		if (r < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -ECONNRESET;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

static json_t *read_answer(int fd, int ms, int *rc)
{
	mono_t deadline = mono_add_ms(mono_now(), ms);
	uint8_t head[CONTROL_HEAD], *body;
	json_t *m = NULL;
	uint32_t n;

	*rc = read_all(fd, head, sizeof(head), deadline);
	if (*rc)
		return NULL;
	n = control_read_head(head);
	body = n <= CONTROL_ANSWER_MAX ? malloc(n ? n : 1) : NULL;
	*rc = body ? read_all(fd, body, n, deadline) : -EMSGSIZE;
	if (*rc == 0) {
		m = control_decode(body, n);
		*rc = m ? 0 : -EBADMSG;
	}
	free(body);
	return m;
}

static int ask(int fd, const json_t *request)
{
	size_t n;
	uint8_t *p = control_encode(request, CONTROL_REQUEST_MAX, &n);
	int rc = p ? send_all(fd, p, n) : -E2BIG;

	free(p);
	return rc;
}

static int no_answer(const char *name, int rc, struct err *e)
{
	return err_set(e, "%s: its supervisor does not answer: %s", name, strerror(-rc));
}

int client_connect_in(int dir, enum control_socket_kind kind)
{
	mono_t end = mono_add_ms(mono_now(), CONTROL_DEADLINE_MS);
	struct timespec step = {.tv_nsec = CONNECT_STEP_MS * 1000000L};
	int fd;

	while ((fd = control_socket_connect(dir, kind)) == -ENOENT && registry_is_alive(dir) &&
	       mono_before(mono_now(), end))
		nanosleep(&step, NULL);
	return fd;
}

int client_connect(const char *name, enum control_socket_kind kind, struct err *e)
{
	struct registry r;
	int rc = registry_open(&r, false, e), dir, fd;

	if (rc && rc != -ENOENT)
		return -1;
	dir = rc ? rc : registry_open_sandbox(&r, name);
	fd = dir < 0 ? dir : client_connect_in(dir, kind);
	if (dir >= 0)
		close(dir);
	if (rc == 0)
		registry_close(&r);
	if (fd == -ENOENT)
		return err_set(e,
			       "%s: no sandbox of that name runs; sandgate ls shows those that do",
			       name);
	return fd < 0 ? err_set(e, "%s: %s", name, strerror(-fd)) : fd;
}

static int send_request(const char *name, const json_t *request, struct err *e)
{
	int fd = client_connect(name, CONTROL_SOCKET, e), rc;

	rc = fd < 0 ? 0 : ask(fd, request);
	if (rc == 0)
		return fd;
	close(fd);
	return no_answer(name, rc, e);
}

/* Consumes the descriptor. */
static json_t *take_answer(int fd, const char *name, int ms, struct err *e)
{
	int rc;
	json_t *m = read_answer(fd, ms, &rc);

	close(fd);
	if (!m)
		no_answer(name, rc, e);
	return m;
}

json_t *client_exchange(const char *name, const json_t *request, int ms, struct err *e)
{
	int fd = send_request(name, request, e);

	return fd < 0 ? NULL : take_answer(fd, name, ms, e);
}

json_t *client_request(const char *name, const json_t *request, int ms, struct err *e)
{
	json_t *m = client_exchange(name, request, ms, e);
	const char *why = json_string_value(json_object_get(m, "error"));

	if (!why)
		return m;
	err_set(e, "%s: %s", name, why);
	json_decref(m);
	return NULL;
}

json_t *client_ask(const char *name, const char *op, struct err *e)
{
	json_t *request = json_pack("{s:s}", "op", op), *answer;

	if (!request) {
		err_set(e, "out of memory");
		return NULL;
	}
	answer = client_request(name, request, CONTROL_DEADLINE_MS, e);
	json_decref(request);
	return answer;
}

/* What is asked of one is under way while the others are asked. */
static void ask_some(char *const *names, size_t n, const json_t *request, json_t **out)
{
	int fds[CLIENT_AT_ONCE];
	struct err ignored;

	for (size_t i = 0; i < n; i++)
		fds[i] = send_request(names[i], request, &ignored);
	for (size_t i = 0; i < n; i++)
		out[i] = fds[i] < 0 ? NULL
				    : take_answer(fds[i], names[i], CONTROL_DEADLINE_MS, &ignored);
}

void client_ask_all(char *const *names, size_t n, const char *op, json_t **out)
{
	json_t *request = json_pack("{s:s}", "op", op);

	for (size_t at = 0; at < n; at += CLIENT_AT_ONCE) {
		size_t some = n - at < CLIENT_AT_ONCE ? n - at : CLIENT_AT_ONCE;

		ask_some(names + at, some, request, out + at);
	}
	json_decref(request);
}
