/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/terminal.h"

#include <signal.h>
#include <unistd.h>

/* Only the controlling terminal has process groups. */
static int find_controlling(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (isatty(fd) && tcgetpgrp(fd) >= 0 && tcgetsid(fd) == getsid(0))
			return fd;
	return -1;
}

/* The caller blocks SIGTTOU, so that this works from the background as well. */
static bool hand_to(struct terminal *t, pid_t group)
{
	return tcsetpgrp(t->fd, group) == 0;
}

static bool own_job_has_it(const struct terminal *t)
{
	return t->fd >= 0 && tcgetpgrp(t->fd) == t->own;
}

void terminal_open(struct terminal *t)
{
	*t = (struct terminal){.fd = find_controlling(), .own = getpgrp()};
	t->has_modes = t->fd >= 0 && tcgetattr(t->fd, &t->modes) == 0;
}

static void give(struct terminal *t)
{
	if (own_job_has_it(t) && hand_to(t, t->sandbox))
		t->given = true;
}

void terminal_begin(struct terminal *t, pid_t sandbox)
{
	t->sandbox = sandbox;
	if (t->fd >= 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		give(t);
}

bool terminal_sandbox_stopped(struct terminal *t, int signo)
{
	if ((signo != SIGTTIN && signo != SIGTTOU) || !own_job_has_it(t))
		return false;
	give(t);
	if (t->given)
		kill(-t->sandbox, SIGCONT);
	return t->given;
}

/* A group within the sandbox may have it: an interactive shell's job. */
static void take_back(struct terminal *t)
{
	if (t->fd >= 0 && t->given && !own_job_has_it(t))
		hand_to(t, t->own);
}

/*
 * The signal goes to the whole job and waits here, where it is blocked, until it is let in. A
 * SIGCONT that comes in between, from a shell that saw the others stop, takes it away again; a
 * SIGSTOP of one's own would stop after that SIGCONT, and nobody would send another.
 */
static void stop_own_job(int signo)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	kill(0, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
}

void terminal_stop_job(struct terminal *t, int signo)
{
	struct termios inside;
	bool had = t->given;
	bool saved = had && tcgetattr(t->fd, &inside) == 0;

	take_back(t);
	t->given = false;
	if (had && t->has_modes)
		tcsetattr(t->fd, TCSADRAIN, &t->modes);
	stop_own_job(signo == SIGSTOP ? SIGTSTP : signo);
	if (had && own_job_has_it(t)) {
		give(t);
		if (saved)
			tcsetattr(t->fd, TCSADRAIN, &inside);
	}
	kill(-t->sandbox, SIGCONT);
}

void terminal_end(struct terminal *t, bool restore)
{
	if (t->fd < 0 || !t->given)
		return;
	take_back(t);
	t->given = false;
	if (restore && t->has_modes)
		tcsetattr(t->fd, TCSADRAIN, &t->modes);
}
