/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/pipes.h"

#include <fcntl.h>
#include <seccomp.h>
#include <stdlib.h>
#include <unistd.h>

const int pipes_syscalls[] = {SCMP_SYS(pipe2), SCMP_SYS(fcntl), SCMP_SYS(close), -1};

struct pipes {
	size_t n; /* made and not closed */
	size_t n_idle;
	struct pipe *idle;
};

static void pipe_close(struct pipes *p, struct pipe *pipe)
{
	close(pipe->read);
	close(pipe->write);
	free(pipe);
	p->n--;
}

static struct pipe *pipe_make(struct pipes *p)
{
	struct pipe *pipe;
	int fd[2];

	if (p->n == PIPES_MAX)
		return NULL;
	pipe = calloc(1, sizeof(*pipe));
	if (!pipe)
		return NULL;
	if (pipe2(fd, O_NONBLOCK | O_CLOEXEC) != 0) {
		free(pipe);
		return NULL;
	}
	/*
	 * Refused beyond fs.pipe-user-pages-soft (pipe(7)), which all gates of a person share: the
	 * pipe then keeps its 64 KiB (or less), and works.
	 */
	fcntl(fd[1], F_SETPIPE_SZ, PIPE_OCTETS);
	pipe->read = fd[0];
	pipe->write = fd[1];
	p->n++;
	return pipe;
}

/* One is made at the start, so that a small exchange finds one ready. */
struct pipes *pipes_new(void)
{
	struct pipes *p = calloc(1, sizeof(*p));
	struct pipe *first = p ? pipe_make(p) : NULL;

	if (first)
		pipes_return(p, first);
	return p;
}

bool pipes_ready(const struct pipes *p)
{
	return p->n_idle > 0;
}

struct pipe *pipes_borrow(struct pipes *p)
{
	struct pipe *pipe = p->idle;

	if (!pipe)
		return pipe_make(p);
	p->idle = pipe->next;
	p->n_idle--;
	return pipe;
}

void pipes_return(struct pipes *p, struct pipe *pipe)
{
	if (pipe->n > 0 || p->n_idle >= PIPES_IDLE_MAX) {
		pipe_close(p, pipe);
		return;
	}
	pipe->next = p->idle;
	p->idle = pipe;
	p->n_idle++;
}
