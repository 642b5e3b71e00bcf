/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/segment_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static bool hash(int fd, struct digest *out)
{
	struct span all = {NULL, 0};
	struct stat st;
	void *p = NULL;

	if (fstat(fd, &st) < 0 || st.st_size < 0)
		return false;
	if (st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return false;
	all = span_of(p, (size_t)st.st_size);
	*out = digest_of(&all, 1);
	return true;
}

static void sg_noreturn be_child(int fd, int pipe, pid_t supervisor)
{
	struct digest d;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
		_exit(EXIT_FAILURE);
	setsid();
	/* A file system that cannot: the octets are hashed all the same. */
	(void)!fsync(fd);
	if (!hash(fd, &d) || write(pipe, d.b, sizeof(d.b)) != (ssize_t)sizeof(d.b))
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}

int segment_hash_begin(struct segment_hash *h, int fd, struct err *e)
{
	pid_t self = getpid();
	int ends[2];

	*h = SEGMENT_HASH_NONE;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, "a pipe: %s", err_why(errno));
	h->child = fork();
	if (h->child == 0)
		be_child(fd, ends[1], self);
	close(ends[1]);
	h->pipe = ends[0];
	if (h->child > 0)
		return 0;
	close(ends[0]);
	*h = SEGMENT_HASH_NONE;
	return err_set(e, "starting a process: %s", err_why(errno));
}

bool segment_hash_end(struct segment_hash *h, char out[SEGMENT_HASH_TEXT + 1])
{
	struct digest d;
	bool whole = read(h->pipe, d.b, sizeof(d.b)) == (ssize_t)sizeof(d.b);

	while (waitpid(h->child, NULL, 0) < 0 && errno == EINTR)
		;
	close(h->pipe);
	*h = SEGMENT_HASH_NONE;
	for (size_t i = 0; whole && i < DIGEST_OCTETS; i++)
		sprintf(out + 2 * i, "%02x", d.b[i]);
	return whole;
}
