/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/sealer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/entry.h"
#include "audit/sealer_main.h"
#include "base/clock.h"

enum { ANSWER_MAX = 4096 };

/* --- messages --- */

static bool is_op(const json_t *m, const char *op)
{
	const char *s = json_string_value(json_object_get(m, "op"));

	return s && strcmp(s, op) == 0;
}

/* 0 or -errno; the message is consumed. */
static int send_message(const struct sealer *s, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	int rc = text ? 0 : -ENOMEM;

	json_decref(message);
	if (text && send(s->control, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		rc = -errno;
	free(text);
	return rc;
}

static void take_sealed(struct sealer *s, const json_t *m)
{
	json_int_t n = json_integer_value(json_object_get(m, "notes"));

	s->fresh = s->fresh || json_is_true(json_object_get(m, "signed"));
	for (; n > s->sealed && s->sent > 0; s->sealed++, s->sent--)
		json_array_remove(s->notes, 0);
}

/* What it says unasked; false: it is something else. */
static bool take_unasked(struct sealer *s, const json_t *m)
{
	if (is_op(m, "full"))
		s->full = json_is_true(json_object_get(m, "full"));
	else if (is_op(m, "sealed"))
		take_sealed(s, m);
	else
		return false;
	return true;
}

/* The next message that is not said unasked, or NULL with errno: ETIMEDOUT, ECONNRESET, .... */
static json_t *receive(struct sealer *s, mono_t deadline)
{
	for (;;) {
		struct pollfd f = {.fd = s->control, .events = POLLIN};
		int64_t left = mono_ms_until(mono_now(), deadline);
		char text[ANSWER_MAX];
		json_t *m;
		ssize_t n;

		errno = ETIMEDOUT;
		if (poll(&f, 1, left > 0 ? (int)left : 0) == 0)
			return NULL;
		n = recv(s->control, text, sizeof(text), MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return NULL;
		m = json_loadb(text, (size_t)n, 0, NULL);
		if (!take_unasked(s, m))
			return m;
		json_decref(m);
	}
}

static int send_ring(const struct sealer *s)
{
	static char op[] = "{\"op\":\"ring\"}";
	union {
		struct cmsghdr header;
		char octets[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec v = {op, sizeof(op) - 1};
	struct msghdr m = {
		.msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &s->ring, sizeof(int));
	return sendmsg(s->control, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* --- notes --- */

static void send_notes(struct sealer *s)
{
	if (s->ready && s->ring >= 0 && send_ring(s) == 0)
		s->ring = -1;
	while (s->ready && s->sent < json_array_size(s->notes)) {
		json_t *note = json_array_get(s->notes, s->sent);

		if (send_message(s, json_incref(note)))
			return;
		/* Whoever is sent it after this one must look whether it is there. */
		json_object_set_new(note, "again", json_true());
		s->sent++;
	}
}

/* Its time, and a number that no other note of the log has: microseconds, never twice the same. */
static void mark(struct sealer *s, json_t *entry)
{
	char text[ENTRY_TIME + 1];
	struct timespec t;
	json_int_t now;

	clock_gettime(CLOCK_REALTIME, &t);
	now = (json_int_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
	s->last_note = now > s->last_note ? now : s->last_note + 1;
	entry_print_time(now / 1000, text);
	json_object_set_new(entry, "time", json_string(text));
	json_object_set_new(entry, "note", json_integer(s->last_note));
}

static size_t size_of(const json_t *value)
{
	return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

int sealer_note(struct sealer *s, json_t *entry)
{
	if (!s->notes)
		s->notes = json_array();
	if (!entry || json_array_size(s->notes) >= SEALER_NOTES_MAX) {
		json_decref(entry);
		return entry ? -ENOBUFS : -ENOMEM;
	}
	mark(s, entry);
	if (size_of(entry) > SEALER_MESSAGE_MAX / 2) {
		json_decref(entry);
		return -EMSGSIZE;
	}
	json_array_append_new(s->notes, json_pack("{s:s, s:o}", "op", "note", "entry", entry));
	sealer_hear(s);
	return 0;
}

void sealer_set_broker_ring(struct sealer *s, int ring)
{
	s->ring = ring;
	sealer_hear(s);
}

static void send_on(const struct sealer *s)
{
	if (s->ready && s->on)
		(void)!send_message(s, json_pack("{s:s, s:O}", "op", "on", "on", s->on));
}

void sealer_set_on(struct sealer *s, char *const *on)
{
	json_decref(s->on);
	s->on = json_array();
	for (; on && *on; on++)
		json_array_append_new(s->on, json_string(*on));
	send_on(s);
}

static void take_start(struct sealer *s, const json_t *m, struct err *e)
{
	const char *why = json_string_value(json_object_get(m, "why"));

	s->ready = is_op(m, "ready");
	if (s->ready)
		send_on(s);
	else
		err_set(e, "the logs cannot be written: %s", why ? why : strerror(errno));
}

void sealer_hear(struct sealer *s)
{
	json_t *m = s->control >= 0 ? receive(s, (mono_t){0}) : NULL;

	if (m && !s->ready)
		take_start(s, m, &s->why);
	json_decref(m);
	send_notes(s);
}

/* --- the process --- */

static void sg_noreturn become_sealer(const struct sealer_setup *setup, int control, pid_t parent)
{
	_exit(sealer_main(setup, control, parent));
}

int sealer_start(struct sealer *s, const struct sealer_setup *setup, struct err *e)
{
	pid_t self = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "a socket to the sealer: %s", err_why(errno));
	s->pid = fork();
	if (s->pid == 0) {
		close(pair[0]);
		become_sealer(setup, pair[1], self);
	}
	close(pair[1]);
	s->control = pair[0];
	s->ready = false;
	s->why.text[0] = 0;
	s->sealed = 0;
	s->sent = 0;
	s->ring = -1;
	s->full = false;
	s->pidfd = s->pid > 0 ? (int)syscall(SYS_pidfd_open, s->pid, 0) : -1;
	if (s->pidfd >= 0)
		return 0;
	err_set(e, "starting the sealer: %s", err_why(errno));
	sealer_stop(s, 0);
	return -1;
}

int sealer_await_ready(struct sealer *s, struct err *e)
{
	json_t *m = s->ready ? NULL : receive(s, mono_add_ms(mono_now(), SEALER_START_MS));

	if (!s->ready)
		take_start(s, m, e);
	json_decref(m);
	send_notes(s);
	return s->ready ? 0 : -1;
}

int sealer_sync(struct sealer *s, int ms)
{
	mono_t deadline = mono_add_ms(mono_now(), ms);
	int rc = s->ready ? 0 : -ENOTCONN;
	json_t *m = NULL;

	if (rc == 0)
		send_notes(s);
	if (rc == 0 && s->sent < json_array_size(s->notes))
		rc = -EAGAIN;
	if (rc == 0)
		rc = send_message(s, json_pack("{s:s}", "op", "sync"));
	if (rc == 0) {
		m = receive(s, deadline);
		rc = !m ? -errno : json_is_true(json_object_get(m, "ok")) ? 0 : -ENOSPC;
	}
	json_decref(m);
	return rc;
}

/*
 * `flags` of waitpid: WNOHANG when it has said that all is done, and its end is nobody's concern.
 */
static int reap(struct sealer *s, int flags)
{
	int status = 0;

	while (s->pid > 0 && waitpid(s->pid, &status, flags) < 0 && errno == EINTR)
		;
	if (s->pidfd >= 0)
		close(s->pidfd);
	if (s->control >= 0)
		close(s->control);
	s->pid = 0;
	s->pidfd = s->control = -1;
	s->ready = false;
	return status;
}

void sealer_stop(struct sealer *s, int ms)
{
	json_t *m = NULL;

	if (s->ready) {
		send_notes(s);
		if (send_message(s, json_pack("{s:s}", "op", "stop")) == 0)
			m = receive(s, mono_add_ms(mono_now(), ms));
	}
	if (!m && s->pid > 0)
		kill(s->pid, SIGKILL);
	reap(s, m ? WNOHANG : 0);
	json_decref(m);
	json_decref(s->notes);
	json_decref(s->on);
	*s = SEALER_NONE;
}

void sealer_bury(struct sealer *s, struct err *how)
{
	int status;

	/* What it said last is still there to be read. */
	sealer_hear(s);
	if (s->pid > 0)
		kill(s->pid, SIGKILL);
	status = reap(s, 0);
	if (s->why.text[0])
		*how = s->why;
	else if (WIFSIGNALED(status))
		err_set(how, "the sealer was ended by signal %d", WTERMSIG(status));
	else
		err_set(how, "the sealer has ended with status %d", WEXITSTATUS(status));
	s->sent = 0;
}
