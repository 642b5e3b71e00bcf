/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/exec_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- messages --- */

int exec_send(int to, const void *message, size_t n, const int *fds, int n_fds)
{
	char room[CMSG_SPACE(EXEC_FDS_MAX * sizeof(int))] = {0};
	struct iovec iov = {(void *)message, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (n_fds > 0 && n_fds <= EXEC_FDS_MAX) {
		size_t size = (size_t)n_fds * sizeof(int);
		struct cmsghdr *c;

		m.msg_control = room;
		m.msg_controllen = CMSG_SPACE(size);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(c), fds, size);
	}
	sent = sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	return sent == (ssize_t)n ? 0 : sent < 0 ? -errno : -EIO;
}

void exec_close_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

ssize_t exec_receive(int from, void *message, size_t n, int fds[EXEC_FDS_MAX], int *n_fds)
{
	char room[CMSG_SPACE(EXEC_FDS_MAX * sizeof(int))];
	struct iovec iov = {message, n};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	ssize_t got = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&m);

	*n_fds = 0;
	if (got < 0)
		return -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*n_fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)*n_fds * sizeof(int));
	}
	if (!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return got;
	exec_close_all(fds, *n_fds);
	*n_fds = 0;
	return 0;
}

/* --- a request --- */

struct texts {
	char *at;
	size_t left;
};

/* The next text and its NUL, or NULL when there is none whole. */
static char *take(struct texts *t)
{
	char *text = t->at, *end = t->left ? memchr(t->at, 0, t->left) : NULL;

	if (!end)
		return NULL;
	t->left -= (size_t)(end - text) + 1;
	t->at = end + 1;
	return text;
}

static char **take_list(struct texts *t, uint32_t n)
{
	char **v = calloc((size_t)n + 1, sizeof(*v));

	for (uint32_t i = 0; v && i < n; i++) {
		v[i] = take(t);
		if (!v[i]) {
			free(v);
			return NULL;
		}
	}
	return v;
}

static bool is_sound(const struct exec_hello *h, size_t n)
{
	return h->magic == EXEC_MAGIC && h->size == n && n <= EXEC_TEXT_MAX && h->n_args >= 1 &&
	       h->n_args <= EXEC_WORDS_MAX && h->n_env <= EXEC_WORDS_MAX &&
	       h->passed <= EXEC_ALL_PASSED;
}

static bool are_variables(char *const *env)
{
	for (; *env; env++)
		if (**env == '=' || !strchr(*env, '='))
			return false;
	return true;
}

bool exec_request_parse(const struct exec_hello *h, char *text, size_t n, struct exec_request *out)
{
	struct texts t = {text, n};

	*out = (struct exec_request){0};
	if (!is_sound(h, n))
		return false;
	out->cwd = take(&t);
	out->argv = out->cwd ? take_list(&t, h->n_args) : NULL;
	out->env = out->argv ? take_list(&t, h->n_env) : NULL;
	if (out->env && t.left == 0 && *out->argv[0] && are_variables(out->env))
		return true;
	exec_request_free(out);
	return false;
}

void exec_request_free(struct exec_request *r)
{
	free(r->argv);
	free(r->env);
	*r = (struct exec_request){0};
}
