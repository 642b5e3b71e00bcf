/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/engine_program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/pidfd.h"
#include "sandbox/supervisor.h"

/* As in include/uapi/linux/close_range.h, which a libc may not show. */
#define CLOSE_ON_EXEC (1U << 2)

const char *engine_program_find(const char *const *places)
{
	while (*places && access(*places, X_OK) < 0)
		places++;
	return *places;
}

static void sg_noreturn child_fail(const struct engine_program *p, const char *what)
{
	dprintf(STDERR_FILENO, "sandgate: %s: %s: %s\n", p->path, what, strerror(errno));
	_exit(EXIT_SANDGATE);
}

static void keep_only(const struct engine_program *p)
{
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_ON_EXEC) < 0)
		child_fail(p, "closing descriptors");
	for (size_t i = 0; i < p->n_fds; i++)
		if (fcntl(p->fds[i], F_SETFD, 0) < 0)
			child_fail(p, "handing on a descriptor");
}

static void sg_noreturn become_program(const struct supervisor *s, const struct engine_program *p,
				       pid_t supervisor)
{
	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		child_fail(p, "binding it to the supervisor");
	if (getppid() != supervisor)
		_exit(EXIT_SANDGATE);
	if (p->netns >= 0 && setns(p->netns, CLONE_NEWNET) < 0)
		child_fail(p, "entering its network namespace");
	if (p->cwd && chdir(p->cwd) < 0)
		child_fail(p, p->cwd);
	keep_only(p);
	if (p->prepare && p->prepare(p->ctx) < 0)
		child_fail(p, "preparing it");
	sigprocmask(SIG_SETMASK, &s->person_mask, NULL);
	execve(p->path, p->argv, p->env);
	child_fail(p, "it cannot be executed");
}

int engine_program_start(struct supervisor *s, const struct engine_program *p, struct err *e)
{
	pid_t self = getpid(), pid = fork();
	int pidfd;

	if (pid == 0)
		become_program(s, p, self);
	if (pid < 0)
		return err_set(e, "%s: a process for it: %s", p->path, err_why(errno));
	setpgid(pid, pid);
	pidfd = pidfd_open_child(pid);
	if (pidfd < 0) {
		err_set(e, "%s: watching it: %s", p->path, err_why(errno));
		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	s->engine.pid = pid;
	s->engine.pidfd = pidfd;
	return 0;
}
