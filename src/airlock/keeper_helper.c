/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/keeper_helper.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "airlock/door_process.h"
#include "airlock/placer.h"
#include "airlock/rules.h"
#include "airlock/sandbox_side.h"
#include "confine/confine.h"

enum { TIMEOUT_MS = 5000 };

/* Returns in the child as well, with h->pid 0 and its end of the socket pair. */
static int start(struct keeper_helper *h, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, "cannot make a socket pair: %s", err_why(errno));
	h->pid = fork();
	h->sock = pair[h->pid == 0];
	close(pair[h->pid != 0]);
	if (h->pid < 0)
		return err_set(e, "cannot fork: %s", err_why(errno));
	return 0;
}

static void door_main(const struct airlock_plan *p, int keeper, pid_t parent) sg_noreturn;
static void door_main(const struct airlock_plan *p, int keeper, pid_t parent)
{
	struct airlock_message m;

	airlock_message_init(&m, MESSAGE_SIDE_READY);
	if (confine_detach("sandgate-door", parent, &keeper, 1, &m.err) < 0)
		m.kind = MESSAGE_FAILED;
	door_process_finish(p, CONFINE_KEPT_FD, &m);
}

/* No confinement: the loader reads nothing but the rules, and ends within milliseconds. */
static void loader_main(const struct airlock_plan *p, int keeper, pid_t parent) sg_noreturn;
static void loader_main(const struct airlock_plan *p, int keeper, pid_t parent)
{
	struct airlock_message m;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	airlock_message_init(&m, MESSAGE_RULES_LOADED);
	if (rules_load(p, &m.err) < 0)
		m.kind = MESSAGE_FAILED;
	_exit(airlock_message_send(keeper, &m) < 0);
}

int keeper_helper_start_side(struct keeper_helper *h, const struct airlock_plan *p, int netns,
			     struct err *e)
{
	pid_t self = getpid();

	if (start(h, e) < 0)
		return -1;
	if (h->pid)
		return 0;
	if (netns >= 0)
		placer_main(p, netns, h->sock, self);
	/* Where the sandbox's namespace cannot be entered, the door is in the airlock itself. */
	if (p->link == AIRLOCK_TAP)
		door_main(p, h->sock, self);
	sandbox_side_main(p, h->sock, self);
}

int keeper_helper_start_door(struct keeper_helper *h, const struct airlock_plan *p, struct err *e)
{
	pid_t self = getpid();

	if (start(h, e) < 0)
		return -1;
	if (h->pid == 0)
		door_main(p, h->sock, self);
	return 0;
}

int keeper_helper_start_loader(struct keeper_helper *h, const struct airlock_plan *p, struct err *e)
{
	pid_t self = getpid();

	if (start(h, e) < 0)
		return -1;
	if (h->pid == 0)
		loader_main(p, h->sock, self);
	return 0;
}

int keeper_helper_await(const struct keeper_helper *h, enum airlock_message_kind kind,
			struct airlock_message *m, struct err *e)
{
	int error = airlock_message_receive(h->sock, m, TIMEOUT_MS);

	if (error < 0)
		return err_set(e, "a helper of the airlock's keeper gave no answer: %s",
			       strerror(-error));
	if (m->kind == (uint32_t)kind)
		return 0;
	*e = m->err;
	airlock_message_close_fds(m);
	return -1;
}
