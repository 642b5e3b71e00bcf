/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/syscall_filter.h"

#include <string.h>
#include <errno.h>
#include <unistd.h>

#include "sandbox/files/memory_file.h"
#include "syscall_filter_image.h"

int syscall_filter_make(struct syscall_filter *f, struct err *e)
{
	f->calls = memory_file("calls", syscall_filter_calls, sizeof(syscall_filter_calls));
	f->arguments = memory_file("arguments", syscall_filter_arguments,
				   sizeof(syscall_filter_arguments));
	f->no_network = memory_file("no_network", syscall_filter_no_network,
				    sizeof(syscall_filter_no_network));
	if (f->calls >= 0 && f->arguments >= 0 && f->no_network >= 0)
		return 0;
	err_set(e, "a file in memory for the filter of system calls: %s", err_why(errno));
	syscall_filter_close(f);
	return -1;
}

void syscall_filter_close(struct syscall_filter *f)
{
	int fds[] = {f->calls, f->arguments, f->no_network};

	for (size_t i = 0; i < sg_array_len(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*f = (struct syscall_filter){-1, -1, -1};
}
