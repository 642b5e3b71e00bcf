/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/netns_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "airlock/namespace.h"
#include "base/clock.h"
#include "sandbox/control/control_socket.h"

/* What held it may just have been killed, and its children end in a moment. */
enum { WAIT_MS = 1000, STEP_MS = 20 };

/* The kernel nests no more (user_namespaces(7)). */
enum { USERNS_LEVELS = 32 };

/* The process that holds a lock on this very namespace, as /proc/locks has it; 0: none is seen. */
static pid_t find_holder(const struct stat *of)
{
	FILE *f = fopen("/proc/locks", "re");
	char line[256];
	pid_t found = 0;

	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long long ino;
		unsigned major, minor;
		int pid;

		if (sscanf(line, "%*s FLOCK %*s %*s %d %x:%x:%llu", &pid, &major, &minor, &ino) ==
			    4 &&
		    pid > 0 && ino == of->st_ino && makedev(major, minor) == of->st_dev)
			found = pid;
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * A gate's supervisor stands outside of the namespace. Of a process that does not show its own, such
 * as another person's, it counts whether it is in a PID namespace below.
 */
static bool is_inside(int netns, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	if (access(path, R_OK) == 0)
		return namespace_is(netns, path);
	return !control_socket_is_beside(pid);
}

/* The effective user of a process, which one that hides its files cannot hide. False: it has gone. */
static bool read_user(pid_t pid, uid_t *out)
{
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "Uid: %*u %u", out) == 1;
	if (f)
		fclose(f);
	return found;
}

/* Is that user the owner of the namespace's user namespace, or of one above (user_namespaces(7))? */
static bool is_owner(int netns, uid_t user)
{
	int at = ioctl(netns, NS_GET_USERNS);
	bool found = false;

	/* One that is not shown may be anybody's. */
	if (at < 0)
		return true;
	for (int i = 0; i < USERNS_LEVELS && at >= 0 && !found; i++) {
		uid_t owner;
		int above = ioctl(at, NS_GET_PARENT);

		found = ioctl(at, NS_GET_OWNER_UID, &owner) == 0 && owner == user;
		close(at);
		at = above;
	}
	if (at >= 0)
		close(at);
	return found;
}

/*
 * Whoever can open a namespace can lock it, as everybody can what `ip netns` keeps. Of those who have
 * no right to put a gate before it none is there.
 */
static bool may_be_gate(int netns, pid_t pid)
{
	uid_t user;

	return !read_user(pid, &user) || user == 0 || is_owner(netns, user);
}

/* Their process is what one of another registry can be shown. */
static int refuse(pid_t holder, struct err *e)
{
	static const char first[] = "the network namespace is behind a gate already, that of";
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)holder);
	if (!holder || stat(path, &st) < 0)
		return err_set(e,
			       "%s a sandbox that is not seen from here; it has to be ended first",
			       first);
	if (st.st_uid != geteuid())
		return err_set(
			e,
			"%s a sandbox of another user (process %d); it has to be ended first, "
			"by them",
			first, (int)holder);
	return err_set(e, "%s another sandbox (process %d); it has to be ended first", first,
		       (int)holder);
}

static int take(int held, int netns, struct err *e)
{
	mono_t end = mono_add_ms(mono_now(), WAIT_MS);
	struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	struct stat st;
	pid_t holder;

	if (fstat(netns, &st) < 0)
		return err_set(e, "the network namespace: %s", err_why(errno));
	while (flock(held, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(e, "the network namespace cannot be locked: %s",
				       err_why(errno));
		holder = find_holder(&st);
		if (holder && (is_inside(netns, holder) || !may_be_gate(netns, holder)))
			return 1;
		if (!mono_before(mono_now(), end))
			return refuse(holder, e);
		nanosleep(&step, NULL);
	}
	return 0;
}

int netns_lock_take(int netns, struct err *e)
{
	char path[64];
	int held, rc;

	/* A description of its own, which no process has that has the namespace for other reasons. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", netns);
	held = open(path, O_RDONLY | O_CLOEXEC);
	if (held < 0)
		return err_set(e, "the network namespace: %s", err_why(errno));
	rc = take(held, netns, e);
	if (rc == 0)
		return held;
	close(held);
	return rc < 0 ? -1 : 0;
}

void netns_lock_give(int held)
{
	if (held <= 0)
		return;
	flock(held, LOCK_UN);
	close(held);
}
