/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/verdicts.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

const int verdicts_syscalls[] = {SCMP_SYS(sendto), SCMP_SYS(close), -1};

void verdicts_follow(struct verdicts *v, int fd)
{
	if (v->fd >= 0)
		close(v->fd);
	*v = (struct verdicts){.fd = fd};
}

static int64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void set_tuple(struct tuple *t, const struct exchange *x)
{
	*t = (struct tuple){.near = x->near->addr,
			    .near_port = x->near->port,
			    .dns_id = x->dns_id,
			    .proto = x->proto,
			    .lookup = x->lookup};
	if (!x->far)
		return;
	t->far = x->far->addr;
	t->far_port = x->far->port;
}

/* What does not fit is cut. */
static size_t put(char *text, size_t at, const char *what)
{
	size_t n = strnlen(what, VERDICT_TEXT_MAX - 1 - at);

	memcpy(text + at, what, n);
	text[at + n] = '\0';
	return at + n;
}

/* ", what", or without a comma where it comes first. */
static size_t add(char *text, size_t at, const char *before, const char *what, const char *after)
{
	if (!what || !*what)
		return at;
	at = put(text, at, at ? before : "");
	at = put(text, at, what);
	return put(text, at, after);
}

/* What is not printable ASCII is shown as '?': a name may hold any octet. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

static void print_text(char text[VERDICT_TEXT_MAX], const struct told *t)
{
	bool deny = t->kind == VERDICT_DENY;
	bool by_default = t->kind == VERDICT_ALLOW && !*t->rule && !t->what;
	size_t at = add(text, 0, "", deny ? reason_word(t->reason) : NULL, "");

	at = add(text, at, ", rule ", t->rule, "");
	if (t->permission && *t->permission)
		at = add(text, at, " (", t->permission, ")");
	at = add(text, at, "", by_default ? "by default" : NULL, "");
	at = add(text, at, ", ", t->what, "");
	if (t->name && strcmp(t->name->s, t->rule) != 0)
		at = add(text, at, ", ", t->name->s, "");
	make_printable(text);
}

void verdicts_tell(struct verdicts *v, const struct exchange *x, const struct told *t)
{
	struct verdict_note n = {.kind = (uint8_t)t->kind, .time_ns = wall_ns(), .lost = v->lost};

	if (!x->near)
		return;
	set_tuple(&n.tuple, x);
	print_text(n.text, t);
	if (send(v->fd, &n, sizeof(n), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(n))
		return;
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
		v->lost++;
	else
		verdicts_follow(v, -1); /* The recorder has ended. */
}
