/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/sealer_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "confine/confine.h"

enum { KEPT = SEALER_KEPT_END - CONFINE_KEPT_FD };

static int open_folder(int at, const char *name)
{
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * poll, messages, time, memory; disk.c and connection_log.c; mmap without PROT_EXEC. openat, rename
 * and unlink reach what Landlock leaves: the two folders.
 */
static const struct confine_call calls[] = {
	{SCMP_SYS(poll), CONFINE_ANY, 0},
	{SCMP_SYS(ppoll), CONFINE_ANY, 0},
	{SCMP_SYS(recvmsg), 0, SEALER_CONTROL},
	{SCMP_SYS(sendto), 0, SEALER_CONTROL},
	{SCMP_SYS(read), CONFINE_ANY, 0},
	{SCMP_SYS(write), CONFINE_ANY, 0},
	{SCMP_SYS(pread64), CONFINE_ANY, 0},
	{SCMP_SYS(pwrite64), CONFINE_ANY, 0},
	{SCMP_SYS(openat), CONFINE_ANY, 0},
	{SCMP_SYS(close), CONFINE_ANY, 0},
	{SCMP_SYS(fstat), CONFINE_ANY, 0},
	{SCMP_SYS(newfstatat), CONFINE_ANY, 0},
	{SCMP_SYS(faccessat), CONFINE_ANY, 0},
	{SCMP_SYS(faccessat2), CONFINE_ANY, 0},
	{SCMP_SYS(statx), CONFINE_ANY, 0},
	{SCMP_SYS(lseek), CONFINE_ANY, 0},
	{SCMP_SYS(getdents64), CONFINE_ANY, 0},
	{SCMP_SYS(fsync), CONFINE_ANY, 0},
	{SCMP_SYS(fdatasync), CONFINE_ANY, 0},
	{SCMP_SYS(ftruncate), CONFINE_ANY, 0},
	{SCMP_SYS(fallocate), CONFINE_ANY, 0},
	{SCMP_SYS(renameat), CONFINE_ANY, 0},
	{SCMP_SYS(renameat2), CONFINE_ANY, 0},
	{SCMP_SYS(unlinkat), CONFINE_ANY, 0},
	{SCMP_SYS(fchmod), CONFINE_ANY, 0},
	{SCMP_SYS(flock), CONFINE_ANY, 0},
	{SCMP_SYS(fcntl), 1, F_GETFD},
	{SCMP_SYS(fcntl), 1, F_SETFD},
	{SCMP_SYS(fcntl), 1, F_GETFL},
	{SCMP_SYS(fcntl), 1, F_DUPFD_CLOEXEC},
	{SCMP_SYS(fcntl), 1, F_SETLK},
	{SCMP_SYS(fcntl), 1, F_OFD_SETLK},
	{SCMP_SYS(clock_gettime), CONFINE_ANY, 0},
	{SCMP_SYS(clock_nanosleep), CONFINE_ANY, 0},
	{SCMP_SYS(brk), CONFINE_ANY, 0},
	{SCMP_SYS(mmap), 2, PROT_READ},
	{SCMP_SYS(mmap), 2, PROT_READ | PROT_WRITE},
	{SCMP_SYS(mmap), 2, PROT_NONE},
	{SCMP_SYS(munmap), CONFINE_ANY, 0},
	{SCMP_SYS(mremap), CONFINE_ANY, 0},
	{SCMP_SYS(madvise), CONFINE_ANY, 0},
	{SCMP_SYS(mprotect), 2, PROT_READ | PROT_WRITE},
	{SCMP_SYS(getrandom), CONFINE_ANY, 0},
	{SCMP_SYS(futex), CONFINE_ANY, 0},
	{SCMP_SYS(getpid), CONFINE_ANY, 0},
	{SCMP_SYS(geteuid), CONFINE_ANY, 0},
	{SCMP_SYS(getppid), CONFINE_ANY, 0},
	{SCMP_SYS(exit), CONFINE_ANY, 0},
};

static int confine_to_calls(struct err *e)
{
	return confine_calls(calls, sg_array_len(calls), e);
}

int sealer_confine(int folder, int control, int wake, pid_t parent, struct err *e)
{
	const int folders[] = {SEALER_AUDIT, SEALER_CONNECTIONS};
	const struct confine_files files = {.folders = folders, .n_folders = 2};
	int keep[KEPT] = {control, wake};

	umask(077);
	keep[2] = open_folder(folder, "audit");
	keep[3] = open_folder(folder, "connections");
	if (keep[2] < 0 || keep[3] < 0)
		return err_set(e, "the folder of the logs: %s", err_why(errno));
	if (confine_detach("sandgate-sealer", parent, keep, KEPT, e))
		return -1;
	/* It ends by itself when the supervisor has, and not before the logs are sealed. */
	if (prctl(PR_SET_PDEATHSIG, 0) < 0)
		return err_set(e, "prctl: %s", strerror(errno));
	if (confine_privileges(0, e) || confine_files(&files, e))
		return -1;
	return confine_to_calls(e);
}
