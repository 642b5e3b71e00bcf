/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/process_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/passed_fd.h"
#include "sandbox/files/memory_file.h"
#include "sandbox/pidfd.h"

enum {
	MESSAGE_MAX = 1024 * 1024,
	STOP_MS = 2000,
	HEARD_AT_ONCE = 64, /* messages: one that never stops talking must not hold the caller */
};

/* --- messages --- */

/* One that is there. NULL with errno: EAGAIN, ECONNRESET, EBADMSG, ... */
static json_t *take(int fd)
{
	char *text = malloc(MESSAGE_MAX);
	ssize_t n = text ? recv(fd, text, MESSAGE_MAX, MSG_DONTWAIT | MSG_TRUNC) : -1;
	json_t *m = NULL;

	if (n == 0)
		errno = ECONNRESET;
	if (n > 0) {
		errno = EBADMSG;
		if (n <= MESSAGE_MAX)
			m = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	}
	free(text);
	return m;
}

/* The next one, waited for: NULL with ETIMEDOUT as well. */
static json_t *receive(int fd, mono_t deadline)
{
	struct pollfd f = {.fd = fd, .events = POLLIN};
	int64_t left = mono_ms_until(mono_now(), deadline);

	if (left >= 0 && poll(&f, 1, (int)left) != 0)
		return take(fd);
	errno = ETIMEDOUT;
	return NULL;
}

static bool is_op(const json_t *m, const char *op)
{
	const char *s = json_string_value(json_object_get(m, "op"));

	return s && op && strcmp(s, op) == 0;
}

static void hear(const struct process_link *l, const json_t *m)
{
	if (l->heard)
		l->heard(l->ctx, m);
}

/* Never waits: one that does not read has its own trouble. */
static int send_request(int fd, const json_t *request, int passed)
{
	_cleanup_free_ char *text = json_dumps(request, JSON_COMPACT);

	return text ? passed_fds_send(fd, text, strlen(text), &passed, passed >= 0) : -ENOMEM;
}

/* An answer has `ok`; what is said unasked has not. */
static json_t *await_answer(const struct process_link *l, const char *op, int timeout_ms)
{
	mono_t deadline = mono_add_ms(mono_now(), timeout_ms);
	json_t *m;

	while ((m = receive(l->control, deadline))) {
		bool answer = json_is_boolean(json_object_get(m, "ok"));

		if (answer && is_op(m, op))
			break;
		if (!answer)
			hear(l, m);
		json_decref(m);
	}
	return m;
}

json_t *process_link_exchange(struct process_link *l, json_t *request, int passed, int timeout_ms)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	json_t *answer = NULL;
	int rc = !op ? -ENOMEM : l->control < 0 ? -ECONNRESET : 0;

	/* An answer that came too late for the last one is not this one's. */
	process_link_hear(l);
	if (rc == 0)
		rc = send_request(l->control, request, passed);
	if (rc == 0)
		answer = await_answer(l, op, timeout_ms);
	else
		errno = -rc;
	json_decref(request);
	return answer;
}

json_t *process_link_ask(struct process_link *l, json_t *request, int timeout_ms)
{
	json_t *m = process_link_exchange(l, request, -1, timeout_ms);

	if (json_is_true(json_object_get(m, "ok")))
		return m;
	json_decref(m);
	return NULL;
}

static int refused(const struct process_link *l, const json_t *answer, const char *what,
		   struct err *e)
{
	const char *why = json_string_value(json_object_get(answer, "why"));

	if (json_is_true(json_object_get(answer, "ok")))
		return 0;
	return err_set(e, "the %s refused %s: %s", l->what, what, why ? why : "it did not say why");
}

int process_link_tell(struct process_link *l, json_t *request, int passed, struct err *e)
{
	char what[32] = "a request";
	const char *op = json_string_value(json_object_get(request, "op"));
	json_t *answer;
	int rc;

	if (op)
		snprintf(what, sizeof(what), "`%s`", op);
	answer = process_link_exchange(l, request, passed, PROCESS_ANSWER_MS);
	rc = answer ? refused(l, answer, what, e)
		    : err_set(e, "the %s did not answer %s: %s", l->what, what, strerror(errno));
	json_decref(answer);
	return rc;
}

void process_link_hear(struct process_link *l)
{
	json_t *m;

	for (int i = 0; i < HEARD_AT_ONCE && l->control >= 0 && (m = take(l->control)); i++) {
		if (!json_is_boolean(json_object_get(m, "ok")))
			hear(l, m);
		json_decref(m);
	}
}

/* --- another policy --- */

/* The wire form in a memory file that nobody can change any more, or -1 with errno. */
static int seal_policy(const struct policy *p)
{
	char *wire = policy_print_wire(p);
	int fd;

	if (!wire) {
		errno = ENOMEM;
		return -1;
	}
	fd = memory_file_sealed("sandgate-policy", wire, strlen(wire));
	free(wire);
	return fd;
}

/* It may decide by either policy: the one that follows it decides by the caller's. */
static int give_up(const struct process_link *l, int error, struct err *e)
{
	process_link_kill(l);
	return err_set(e, "the %s did not take the policy, and is replaced: %s", l->what,
		       strerror(error));
}

int process_link_set_policy(struct process_link *l, const struct policy *p, uint64_t generation,
			    struct err *e)
{
	_cleanup_fd_ int fd = seal_policy(p);
	json_t *m;
	int rc;

	if (fd < 0)
		return err_set(e, "the policy cannot be handed to the %s: %s", l->what,
			       err_why(errno));
	if (l->control < 0)
		return err_set(e, "there is no %s at this moment; try again", l->what);
	m = process_link_exchange(
		l, json_pack("{s:s, s:I}", "op", "policy", "generation", (json_int_t)generation),
		fd, PROCESS_POLICY_MS);
	rc = m ? refused(l, m, "the policy", e) : give_up(l, errno, e);
	json_decref(m);
	return rc;
}

json_t *process_link_host_request(const struct host_prefixes *p)
{
	json_t *list = json_array();
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(list, json_string(prefix_format(&p->prefix[i], text)));
	return json_pack("{s:s, s:o}", "op", "host", "prefixes", list);
}

/* --- the process --- */

static int reap(struct process_link *l)
{
	int status = 0;

	while (l->pid > 0 && waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void forget(struct process_link *l)
{
	if (l->pidfd >= 0)
		close(l->pidfd);
	if (l->control >= 0)
		close(l->control);
	l->pid = 0;
	l->pidfd = l->control = -1;
}

/* Ends it, orderly if it takes the hint, and waits for its end. */
static void stop(struct process_link *l)
{
	struct pollfd f = {.fd = l->pidfd, .events = POLLIN};

	json_decref(process_link_ask(l, json_pack("{s:s}", "op", "stop"), STOP_MS));
	if (l->control >= 0)
		close(l->control);
	l->control = -1;
	/* An end that takes long is no use to anybody any more. */
	if (l->pidfd >= 0 && poll(&f, 1, PROCESS_ANSWER_MS) != 1)
		process_link_kill(l);
	else if (l->pidfd < 0 && l->pid > 0)
		kill(l->pid, SIGKILL);
	reap(l);
	forget(l);
}

int process_link_fork(struct process_link *l, process_become_fn *become, const void *setup,
		      struct err *e)
{
	pid_t self = getpid();
	int pair[2], rc;

	l->pid = 0;
	l->pidfd = l->control = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "a socket to the %s: %s", l->what, err_why(errno));
	l->control = pair[0];
	l->pid = fork();
	if (l->pid == 0) {
		become(setup, pair[1], self);
		_exit(EXIT_FAILURE);
	}
	close(pair[1]);
	l->pidfd = l->pid > 0 ? pidfd_open_child(l->pid) : -1;
	if (l->pidfd >= 0)
		return 0;
	rc = err_set(e, "starting the %s: %s", l->what, err_why(errno));
	stop(l);
	return rc;
}

json_t *process_link_await_ready(struct process_link *l, struct err *e)
{
	json_t *m = receive(l->control, mono_add_ms(mono_now(), PROCESS_START_MS));
	const char *why = json_string_value(json_object_get(m, "why"));

	if (m && is_op(m, "ready"))
		return m;
	if (!m)
		err_set(e, "the %s did not start: %s", l->what, strerror(errno));
	else if (why)
		err_set(e, "%s", why);
	else
		err_set(e, "the %s did not start", l->what);
	json_decref(m);
	stop(l);
	return NULL;
}

void process_link_kill(const struct process_link *l)
{
	if (l->pidfd >= 0)
		pidfd_signal(l->pidfd, SIGKILL);
}

void process_link_leave(struct process_link *l)
{
	process_link_kill(l);
	forget(l);
}

void process_link_bury(struct process_link *l, struct err *how)
{
	int status;

	process_link_kill(l);
	status = reap(l);
	if (WIFSIGNALED(status))
		err_set(how, "the %s was ended by signal %d", l->what, WTERMSIG(status));
	else
		err_set(how, "the %s has ended with status %d", l->what, WEXITSTATUS(status));
	forget(l);
}
