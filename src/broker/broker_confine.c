/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "broker/credential_control.h"
#include "broker/gate_door.h"
#include "broker/link.h"
#include "broker/parent.h"
#include "io/loop.h"
#include "io/passed_fd.h"
#include "io/requests.h"
#include "io/sealed_memory.h"

/*
 * The allocator, the clock, OpenSSL's random numbers and locks, secrets in locked memory, the
 * ring's wake-up.
 */
static const int base_syscalls[] = {
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(brk),
	SCMP_SYS(munmap),	 SCMP_SYS(mremap),	 SCMP_SYS(madvise),
	SCMP_SYS(getrandom),	 SCMP_SYS(futex),	 SCMP_SYS(getpid),
	SCMP_SYS(mlock),	 SCMP_SYS(mlock2),	 SCMP_SYS(munlock),
	SCMP_SYS(exit),		 SCMP_SYS(write),	 -1,
};

static const int *const allowed[] = {
	base_syscalls,	   loop_syscalls,      link_syscalls,	       gate_door_syscalls,
	requests_syscalls, passed_fd_syscalls, sealed_memory_syscalls, credential_control_syscalls,
	parent_syscalls,
};

/* Where an argument decides: no memory is executable, fcntl sets no owner. */
static const struct confine_call conditional[] = {
	{SCMP_SYS(mmap), 2, PROT_READ},	       {SCMP_SYS(mmap), 2, PROT_READ | PROT_WRITE},
	{SCMP_SYS(mmap), 2, PROT_NONE},	       {SCMP_SYS(mprotect), 2, PROT_READ | PROT_WRITE},
	{SCMP_SYS(mprotect), 2, PROT_NONE},    {SCMP_SYS(mprotect), 2, PROT_READ},
	{SCMP_SYS(fcntl), 1, F_GETFL},	       {SCMP_SYS(fcntl), 1, F_SETFL},
	{SCMP_SYS(fcntl), 1, F_GET_SEALS},     {SCMP_SYS(fcntl), 1, F_GETPIPE_SZ},
	{SCMP_SYS(fcntl), 1, F_DUPFD_CLOEXEC},
};

/* To what the process may have: descriptors for connections, locked memory for secrets. */
static int raise_limit(int resource, const char *name, struct err *e)
{
	struct rlimit l;

	if (getrlimit(resource, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		if (setrlimit(resource, &l) == 0)
			return 0;
	}
	return err_set(e, "cannot confine the broker: %s: %s", name, strerror(errno));
}

int broker_confine_early(int control, int wake, pid_t supervisor, struct err *e)
{
	const int keep[] = {control, wake};

	if (confine_detach("sandgate-broker", supervisor, keep, wake >= 0 ? 2 : 1, e) != 0)
		return -1;
	if (raise_limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", e) != 0 ||
	    raise_limit(RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", e) != 0)
		return -1;
	return confine_privileges(0, e);
}

int broker_confine_fully(struct err *e)
{
	static const struct confine_files none = {0};

	if (confine_files(&none, e) != 0)
		return -1;
	return confine_listed_calls(conditional, sg_array_len(conditional), allowed,
				    sg_array_len(allowed), e);
}
