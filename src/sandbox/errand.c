/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/errand.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/control/exec_wire.h"

/* The child's, whole. */
struct report {
	int rc;
	struct err e;
	alignas(max_align_t) char answer[ERRAND_ANSWER_MAX];
};

static void sg_noreturn be_child(const struct errand *x, int sock, pid_t parent)
{
	struct report r = {0};
	int fds[EXEC_FDS_MAX];

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	r.rc = x->work(x->ctx, r.answer, fds, &r.e) ? -1 : 0;
	_exit(exec_send(sock, &r, sizeof(r), fds, r.rc ? 0 : x->n_fds) != 0);
}

static int hear(const struct errand *x, int sock, void *answer, int *out, struct err *e)
{
	struct pollfd f = {.fd = sock, .events = POLLIN};
	int fds[EXEC_FDS_MAX], n_fds = 0, ready;
	struct report r;
	ssize_t got;

	do
		ready = poll(&f, 1, x->ms);
	while (ready < 0 && errno == EINTR);
	got = ready == 1 ? exec_receive(sock, &r, sizeof(r), fds, &n_fds) : 0;
	if (got == (ssize_t)sizeof(r) && n_fds == (r.rc ? 0 : x->n_fds)) {
		for (int i = 0; i < n_fds; i++)
			out[i] = fds[i];
		if (x->size)
			memcpy(answer, r.answer, x->size);
		*e = r.e;
		return r.rc;
	}
	exec_close_all(fds, n_fds);
	return ready == 1 ? err_set(e, "%s: its process has ended without an answer", x->what)
			  : err_set(e, "%s: no answer within %d s", x->what, x->ms / 1000);
}

int errand_run(const struct errand *x, void *answer, int *fds, struct err *e)
{
	pid_t self = getpid(), pid;
	int pair[2], rc;

	if (x->size)
		memset(answer, 0, x->size);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "%s: a socket pair: %s", x->what, err_why(errno));
	pid = fork();
	if (pid == 0)
		be_child(x, pair[1], self);
	close(pair[1]);
	rc = pid < 0 ? err_set(e, "%s: a process for it: %s", x->what, err_why(errno))
		     : hear(x, pair[0], answer, fds, e);
	close(pair[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return rc;
}
