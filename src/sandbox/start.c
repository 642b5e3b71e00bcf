/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the first program of a sandbox, which becomes the command. Linked statically and carried
 * within sandgate, since it runs in a file system that it knows nothing of.
 *
 * Usage: start FD COMMAND [ARGUMENT...]
 *
 * Over the socket FD it hands the supervisor a pidfd of itself, so that signals reach the command
 * and not the engine around it, and waits for the word to go on: eight octets, the signals that
 * were blocked when sandgate was started. Without that word nothing is run. Why the command could
 * not be run shows in the exit status as a shell has it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <signal.h>
#include <unistd.h>

enum { OWN_FAILURE = 125, CANNOT_EXECUTE = 126, NOT_FOUND = 127 };

static int send_pidfd(int to)
{
	char octet = 'S', room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&octet, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (self < 0)
		return -1;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(self));
	memcpy(CMSG_DATA(c), &self, sizeof(self));
	return sendmsg(to, &m, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static int wait_for_word(int from, uint64_t *blocked)
{
	ssize_t n;

	do
		n = recv(from, blocked, sizeof(*blocked), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*blocked) ? 0 : -1;
}

static int complain(const char *command)
{
	int why = errno;

	if (why == ENOENT && strchr(command, '/') && access(command, F_OK) == 0) {
		dprintf(2, "sandgate: %s: what it names as its interpreter is not in the sandbox\n",
			command);
		return CANNOT_EXECUTE;
	}
	if (why == ENOENT || why == ENOTDIR) {
		dprintf(2,
			"sandgate: %s: not found in the sandbox; install it, give its path, or share "
			"its folder with --ro\n",
			command);
		return NOT_FOUND;
	}
	dprintf(2, "sandgate: %s: cannot be executed: %s\n", command, strerror(why));
	return CANNOT_EXECUTE;
}

int main(int argc, char **argv)
{
	uint64_t blocked;
	int fd = argc > 2 ? atoi(argv[1]) : -1;

	if (fd < 3 || send_pidfd(fd) < 0 || wait_for_word(fd, &blocked) < 0)
		return OWN_FAILURE;
	if (syscall(SYS_close_range, 3, ~0U, 0) < 0 ||
	    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof(blocked)) < 0)
		return OWN_FAILURE;
	execvp(argv[2], argv + 2);
	return complain(argv[2]);
}
