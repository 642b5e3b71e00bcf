/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_clock: the monotonic clock of a test's program, in the place of libc's: it moves when a loop
 * waits and nothing comes, by as long as it would have waited, and never by itself. So a test may say
 * what happens within how many milliseconds, and a machine that does other things meanwhile adds
 * none.
 */
#ifndef SG_TESTS_OWN_CLOCK_H
#define SG_TESTS_OWN_CLOCK_H

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What is under way in the kernel comes before a later time does. */
enum { OWN_CLOCK_GRACE_MS = 20 };

static struct timespec own_clock = {.tv_sec = 100000};

int clock_gettime(clockid_t which, struct timespec *out)
{
	if (which != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, which, out);
	*out = own_clock;
	return 0;
}

int epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
	int grace = ms < 0 || ms > OWN_CLOCK_GRACE_MS ? OWN_CLOCK_GRACE_MS : ms, n;

	do
		n = (int)syscall(SYS_epoll_wait, fd, events, most, grace);
	while (n == 0 && ms < 0);
	if (n == 0) {
		own_clock.tv_nsec += ms % 1000 * 1000000L;
		own_clock.tv_sec += ms / 1000 + own_clock.tv_nsec / 1000000000;
		own_clock.tv_nsec %= 1000000000;
	}
	return n;
}

#endif
