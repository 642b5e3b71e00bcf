/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_confine: what the recorder gives up, in the stages of confine/confine.h.
 *
 *	1 early	after the fork: no descriptor but its own, no environment, no capability; it outlives
 *		the supervisor by as long as it takes to end its file
 *	2 fully	when everything has been made, before the first frame is read: no file can be opened,
 *		and of calls only those that use what it has. It makes no socket and no process.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "capture/recorder_state.h"
#include "io/message_socket.h"
#include "io/passed_fd.h"

static const int base_syscalls[] = {
	SCMP_SYS(clock_gettime),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(exit),
	SCMP_SYS(recvfrom),
	SCMP_SYS(getrandom),
	-1,
};

static const int *const allowed[] = {
	base_syscalls,	    loop_syscalls,	     requests_syscalls,
	passed_fd_syscalls, message_socket_syscalls, capture_file_syscalls,
};

static const struct confine_call conditional[] = {
	{SCMP_SYS(getsockopt), 0, RECORDER_SOCKET},
	{SCMP_SYS(mmap), 2, PROT_READ | PROT_WRITE},
	{SCMP_SYS(fcntl), 1, F_DUPFD_CLOEXEC},
};

int recorder_confine_early(const struct recorder_setup *s, struct err *e)
{
	const int keep[] = {s->control, s->socket, s->file, s->verdicts, s->keys};
	size_t n = sg_array_len(keep) - (s->keys < 0);

	if (confine_detach("sandgate-record", s->supervisor, keep, n, e))
		return -1;
	if (prctl(PR_SET_PDEATHSIG, 0) < 0)
		return err_set(e, "prctl: %s", strerror(errno));
	return confine_privileges(0, e);
}

int recorder_confine_fully(struct err *e)
{
	static const struct confine_files none = {0};

	if (confine_files(&none, e) != 0)
		return -1;
	return confine_listed_calls(conditional, sg_array_len(conditional), allowed,
				    sg_array_len(allowed), e);
}
