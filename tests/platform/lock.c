/* SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"

#include <sched.h>
#include <stdio.h>

struct airlock lock;

void lock_open(bool door)
{
	struct airlock_config c = {.uid = LOCK_UID, .gid = LOCK_GID, .door = door};
	struct err e = {""};

	if (airlock_open(&c, &lock, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		CHECK(!"airlock_open");
	}
}

int lock_inside(rig_body *body)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		CHECK(setns(lock.sandbox_userns, CLONE_NEWUSER) == 0);
		CHECK(setns(lock.sandbox_netns, CLONE_NEWNET) == 0);
		CHECK(geteuid() == LOCK_UID && getegid() == LOCK_GID);
		body();
		_exit(0);
	}
	return rig_wait(pid);
}
