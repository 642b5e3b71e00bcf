/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/start_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/control/exec_wire.h"
#include "sandbox/files/memory_file.h"
#include "sandbox/engine/start_image.h"

int start_link_open(struct start_link *l, int *theirs, struct err *e)
{
	int pair[2];

	*l = START_LINK_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "a socket to the engine: %s", err_why(errno));
	l->socket = pair[0];
	*theirs = pair[1];
	return 0;
}

int start_link_program(void)
{
	return memory_file("start", start_image_begin,
			   (size_t)(start_image_end - start_image_begin));
}

int start_link_hear(struct start_link *l)
{
	char octet, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&octet, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	ssize_t n = recvmsg(l->socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&m) : NULL;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)) || l->inside >= 0)
		return 0;
	memcpy(&l->inside, CMSG_DATA(c), sizeof(int));
	return 1;
}

int start_link_outlived(int socket, int *status)
{
	struct exec_news news;
	int fds[EXEC_FDS_MAX], n_fds;
	ssize_t n = exec_receive(socket, &news, sizeof(news), fds, &n_fds);

	exec_close_all(fds, n_fds);
	if (n == (ssize_t)sizeof(news) && news.kind == EXEC_OUTLIVED) {
		*status = news.value;
		return 1;
	}
	return n > 0 || n == -EAGAIN || n == -EINTR ? 0 : -1;
}

static int say_word(const struct start_link *l, const struct exec_word *w, const int *fds, int n)
{
	if (l->socket < 0 || l->inside < 0)
		return -ESRCH;
	return exec_send(l->socket, w, sizeof(*w), fds, n);
}

int start_link_hand(const struct start_link *l, const struct start_handed *handed)
{
	struct exec_word w = {.kind = EXEC_HAND, .signo = handed->first};

	return say_word(l, &w, handed->fds, handed->n);
}

int start_link_let_go(const struct start_link *l, const sigset_t *blocked,
		      const struct syscall_filter *filter)
{
	const int fds[] = {filter ? filter->calls : -1, filter ? filter->arguments : -1};
	struct exec_word w = {.kind = EXEC_GO};

	/* The kernel's set is the first 64 bits of the C library's. */
	memcpy(&w.mask, blocked, sizeof(w.mask));
	return say_word(l, &w, fds, filter ? sg_array_len(fds) : 0);
}

int start_link_signal(const struct start_link *l, int signo)
{
	struct exec_word w = {.kind = EXEC_SIGNAL, .signo = signo};

	return say_word(l, &w, NULL, 0);
}

int start_link_take_client(const struct start_link *l, int client)
{
	struct exec_word w = {.kind = EXEC_CLIENT};

	return say_word(l, &w, &client, 1);
}

int start_link_terminate(const struct start_link *l)
{
	struct exec_word w = {.kind = EXEC_TERMINATE};

	return say_word(l, &w, NULL, 0);
}

void start_link_close(struct start_link *l)
{
	int fds[] = {l->socket, l->inside};

	for (size_t i = 0; i < sg_array_len(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*l = START_LINK_NONE;
}
