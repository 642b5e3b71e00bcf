/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	struct watch watch; /* the pipe from the child */
	struct loop *loop;
	docker_done_fn *done;
	void *ctx;
	pid_t child;
};

enum { TO_DRIVER = STDERR_FILENO + 1 };

struct report {
	int rc;
	struct err e;
	char result[DOCKER_RESULT_MAX];
};
_Static_assert(sizeof(struct report) <= PIPE_BUF, "a pipe takes a report at once, or none of it");

/* What the work leaves running has the signals of a program, and no descriptor of the driver's. */
static bool become_child(int to_driver, pid_t driver)
{
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != driver)
		return false;
	if (to_driver != TO_DRIVER && dup3(to_driver, TO_DRIVER, O_CLOEXEC) < 0)
		return false;
	if (syscall(SYS_close_range, TO_DRIVER + 1, ~0U, 0) < 0)
		return false;
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

static void sg_noreturn be_child(const struct job *j, docker_work_fn *work, int to_driver,
				 pid_t driver)
{
	struct report r = {0};

	if (!become_child(to_driver, driver))
		_exit(EXIT_FAILURE);
	r.rc = work(j->ctx, r.result, &r.e);
	_exit(write(TO_DRIVER, &r, sizeof(r)) == sizeof(r) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void reap(pid_t child)
{
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct job *j = sg_container_of(w, struct job, watch);
	struct report r;
	ssize_t n = read(w->fd, &r, sizeof(r));

	loop_close(j->loop, w);
	reap(j->child);
	if (n != sizeof(r)) {
		r = (struct report){.rc = -1};
		err_set(&r.e, "the work on it ended without a word");
	}
	j->done(j->ctx, r.rc, r.result, &r.e);
	free(j);
}

static int watch_child(struct job *j, int from_child, struct err *e)
{
	int rc = loop_add(j->loop, &j->watch, from_child, EPOLLIN);

	if (rc == 0)
		return 0;
	kill(j->child, SIGKILL);
	reap(j->child);
	close(from_child);
	return err_set(e, "the loop: %s", err_why(-rc));
}

int docker_job_start(struct loop *l, docker_work_fn *work, docker_done_fn *done, void *ctx,
		     struct err *e)
{
	struct job *j = malloc(sizeof(*j));
	pid_t driver = getpid();
	int ends[2], rc;

	if (!j)
		return err_set(e, "out of memory");
	*j = (struct job){
		.watch = {.ready = on_ready, .fd = -1}, .loop = l, .done = done, .ctx = ctx};
	rc = pipe2(ends, O_CLOEXEC) < 0 ? err_set(e, "a pipe: %s", err_why(errno)) : 0;
	if (rc == 0) {
		j->child = fork();
		if (j->child == 0)
			be_child(j, work, ends[1], driver);
		close(ends[1]);
		if (j->child < 0) {
			close(ends[0]);
			rc = err_set(e, "another process: %s", err_why(errno));
		} else {
			rc = watch_child(j, ends[0], e);
		}
	}
	if (rc)
		free(j);
	return rc;
}
