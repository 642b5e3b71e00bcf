/* SPDX-License-Identifier: Apache-2.0 */
#include "io/sealed_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>

/* Its size by lseek(): fstat() is a call that also takes paths. */
const int sealed_memory_syscalls[] = {SCMP_SYS(lseek), SCMP_SYS(munmap), -1};

/* Without these it could be cut short, or be something else, while it is read. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

int sealed_memory_map(int fd, size_t most, const char *what, struct span *out, struct err *e)
{
	int seals = fcntl(fd, F_GET_SEALS);
	off_t n = seals < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *p;

	if (seals < 0)
		return err_set(e, "the %s is not in a memory file: %s", what, strerror(errno));
	if ((seals & SEALS) != SEALS)
		return err_set(e, "the %s is not sealed: its file could still be changed", what);
	if (n <= 0 || (size_t)n > most)
		return err_set(e, "the %s is %lld octets long; 1 to %zu are taken", what,
			       (long long)n, most);
	p = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_set(e, "the %s cannot be read: %s", what, strerror(errno));
	*out = span_of(p, (size_t)n);
	return 0;
}

void sealed_memory_unmap(struct span octets)
{
	munmap((void *)octets.p, octets.n);
}
