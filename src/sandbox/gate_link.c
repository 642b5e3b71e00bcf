/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gate_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "gate/counted.h"
#include "sandbox/memory_file.h"
#include "sandbox/pidfd.h"

enum { ANSWER_MAX = 1024 * 1024, STOP_MS = 2000 };

/* --- messages --- */

/* The next message as an object, or NULL with errno: ETIMEDOUT, ECONNRESET, EBADMSG, ... */
static json_t *receive(int fd, mono_t deadline)
{
	struct pollfd f = {.fd = fd, .events = POLLIN};
	int64_t left = mono_ms_until(mono_now(), deadline);
	json_t *m = NULL;
	char *text;
	ssize_t n;

	if (left < 0 || poll(&f, 1, (int)left) == 0) {
		errno = ETIMEDOUT;
		return NULL;
	}
	text = malloc(ANSWER_MAX);
	n = text ? recv(fd, text, ANSWER_MAX, MSG_DONTWAIT | MSG_TRUNC) : -1;
	if (n == 0)
		errno = ECONNRESET;
	if (n > 0) {
		errno = EBADMSG;
		if (n <= ANSWER_MAX)
			m = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	}
	free(text);
	return m;
}

static bool is_op(const json_t *m, const char *op)
{
	const char *s = json_string_value(json_object_get(m, "op"));

	return s && op && strcmp(s, op) == 0;
}

static int send_request(int fd, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	int rc = -ENOMEM;

	if (text && send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		rc = 0;
	else if (text)
		rc = -errno;
	free(text);
	return rc;
}

/* An answer that came too late for an earlier request is passed over: ops tell them apart. */
static json_t *await_answer(const struct gate_link *g, const char *op, int timeout_ms)
{
	mono_t deadline = mono_add_ms(mono_now(), timeout_ms);
	json_t *m;

	while ((m = receive(g->control, deadline)) && !is_op(m, op))
		json_decref(m);
	return m;
}

json_t *gate_link_ask(struct gate_link *g, json_t *request, int timeout_ms)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	json_t *m = NULL;

	if (op && g->control >= 0 && send_request(g->control, request) == 0)
		m = await_answer(g, op, timeout_ms);
	json_decref(request);
	if (json_is_true(json_object_get(m, "ok")))
		return m;
	json_decref(m);
	return NULL;
}

json_t *gate_link_counted(struct gate_link *g, const char *op, int timeout_ms)
{
	json_t *answer = gate_link_ask(g, json_pack("{s:s}", "op", op), timeout_ms);

	if (answer || !g->totals.counters)
		return answer;
	return strcmp(op, "refusals") == 0 ? counted_refusals_untrusted(&g->totals, &g->remedy)
					   : counted_status_untrusted(&g->totals, g->generation);
}

json_int_t gate_link_number(const json_t *answer, const char *group, const char *key)
{
	const json_t *o = group ? json_object_get(answer, group) : answer;
	json_int_t n = json_integer_value(json_object_get(o, key));

	return n < 0 ? 0 : n > GATE_NUMBER_MAX ? GATE_NUMBER_MAX : n;
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

static int send_policy(const struct gate_link *g, int policy, uint64_t generation)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char text[96];
	struct iovec v = {text, 0};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = control.octets,
			   .msg_controllen = sizeof(control.octets)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	v.iov_len = (size_t)snprintf(text, sizeof(text), "{\"op\":\"policy\",\"generation\":%llu}",
				     (unsigned long long)generation);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &policy, sizeof(int));
	return sendmsg(g->control, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* It may decide by either policy: the one that follows it decides by the caller's. */
static int give_up_gate(struct gate_link *g, int error, struct err *e)
{
	if (g->pidfd >= 0)
		pidfd_signal(g->pidfd, SIGKILL);
	return err_set(e, "the gate did not take the policy, and is replaced: %s", strerror(error));
}

int gate_link_set_policy(struct gate_link *g, const struct policy *p, uint64_t generation,
			 struct err *e)
{
	_cleanup_fd_ int fd = seal_policy(p);
	int rc = 0;
	json_t *m;

	if (fd < 0)
		return err_set(e, "the policy cannot be handed to the gate: %s", err_why(errno));
	if (g->control < 0)
		return err_set(e, "there is no gate at this moment; try again");
	rc = send_policy(g, fd, generation);
	if (rc)
		return give_up_gate(g, -rc, e);
	m = await_answer(g, "policy", GATE_POLICY_MS);
	if (!m)
		return give_up_gate(g, errno, e);
	if (!json_is_true(json_object_get(m, "ok"))) {
		const char *why = json_string_value(json_object_get(m, "why"));

		rc = err_set(e, "the gate refused the policy: %s",
			     why ? why : "it did not say why");
	}
	json_decref(m);
	return rc;
}

json_t *gate_link_host_request(const struct host_prefixes *p)
{
	json_t *list = json_array();
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(list, json_string(prefix_format(&p->prefix[i], text)));
	return json_pack("{s:s, s:o}", "op", "host", "prefixes", list);
}

json_t *gate_link_resolver_request(const struct resolver_config *c)
{
	json_t *servers = json_array(), *hosts = json_array();
	char text[ENDPOINT_TEXT_MAX];

	for (size_t i = 0; i < c->n_servers; i++)
		json_array_append_new(servers, json_string(endpoint_format(&c->servers[i], text)));
	for (size_t i = 0; i < c->n_hosts; i++)
		json_array_append_new(hosts, json_pack("[s, s]", c->hosts[i].name.s,
						       addr_format(&c->hosts[i].addr, text)));
	return json_pack("{s:s, s:o, s:I, s:I, s:o}", "op", "resolver", "servers", servers,
			 "timeout_ms", (json_int_t)c->timeout_ms, "tries", (json_int_t)c->tries,
			 "hosts", hosts);
}

/* --- the process --- */

static void sg_noreturn become_gate(const struct gate_link *g, const struct gate_setup *s,
				    int control, pid_t supervisor)
{
	struct gate_setup own = *s;

	own.control = control;
	own.totals = &g->totals;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
		_exit(EXIT_FAILURE);
	/* Out of reach of the terminal's signals, and of kill(0) by anyone in the job. */
	setsid();
	_exit(gate_main(&own));
}

static int await_ready(struct gate_link *g, struct err *e)
{
	json_t *m = receive(g->control, mono_add_ms(mono_now(), GATE_START_MS));
	const char *why = json_string_value(json_object_get(m, "why"));
	int rc = 0;

	if (!m)
		rc = err_set(e, "the gate did not start: %s", strerror(errno));
	else if (!is_op(m, "ready"))
		rc = err_set(e, "%s", why ? why : "the gate did not start");
	json_decref(m);
	return rc;
}

static int reap(struct gate_link *g)
{
	int status = 0;

	while (g->pid > 0 && waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void forget(struct gate_link *g)
{
	if (g->pidfd >= 0)
		close(g->pidfd);
	if (g->control >= 0)
		close(g->control);
	g->pid = 0;
	g->pidfd = g->control = -1;
}

/* Ends it, orderly if it takes the hint, and waits for its end. */
static void stop(struct gate_link *g)
{
	struct pollfd f = {.fd = g->pidfd, .events = POLLIN};

	json_decref(gate_link_ask(g, json_pack("{s:s}", "op", "stop"), STOP_MS));
	if (g->control >= 0)
		close(g->control);
	g->control = -1;
	/* An end that takes long is no use to anybody any more: the sandbox has ended. */
	if (g->pidfd >= 0 && poll(&f, 1, GATE_ANSWER_MS) != 1)
		pidfd_signal(g->pidfd, SIGKILL);
	else if (g->pidfd < 0 && g->pid > 0)
		kill(g->pid, SIGKILL);
	reap(g);
	forget(g);
}

int gate_link_start(struct gate_link *g, const struct gate_setup *s, struct err *e)
{
	pid_t self = getpid();
	int pair[2], rc;

	g->pidfd = g->control = -1;
	g->remedy = (struct remedy_for){.sandbox = s->sandbox, .catalogue = s->catalogue};
	g->generation = ruleset_generation(s->rules);
	if (!g->totals.counters && totals_make(&g->totals, e) != 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "a socket to the gate: %s", err_why(errno));
	g->control = pair[0];
	g->pid = fork();
	if (g->pid == 0)
		become_gate(g, s, pair[1], self);
	close(pair[1]);
	g->pidfd = g->pid > 0 ? pidfd_open_child(g->pid) : -1;
	if (g->pidfd < 0)
		rc = err_set(e, "starting the gate: %s", err_why(errno));
	else
		rc = await_ready(g, e);
	if (rc)
		stop(g);
	return rc;
}

void gate_link_leave(struct gate_link *g)
{
	if (g->pidfd >= 0)
		pidfd_signal(g->pidfd, SIGKILL);
	forget(g);
}

void gate_link_bury(struct gate_link *g, struct err *how)
{
	int status;

	if (g->pidfd >= 0)
		pidfd_signal(g->pidfd, SIGKILL);
	status = reap(g);
	if (WIFSIGNALED(status))
		err_set(how, "the gate was ended by signal %d", WTERMSIG(status));
	else
		err_set(how, "the gate has ended with status %d", WEXITSTATUS(status));
	forget(g);
}
