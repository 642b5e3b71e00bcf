/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/join.h"

#include <unistd.h>

#include "sandbox/control/client.h"
#include "sandbox/run.h"
#include "sandbox/runtime_dir.h"

/* What was sent is let out after the end of all that ran (drain.c), and the logs are sealed. */
enum { END_MS = 60000 };

/* Its sockets are closed before its name is free. */
static bool is_ending(int dir)
{
	int fd;

	if (!registry_is_alive(dir))
		return true;
	fd = client_connect_in(dir, CONTROL_SOCKET);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

bool join_has_ended(int dir)
{
	return is_ending(dir) && registry_await_end(dir, END_MS) == 0;
}

int join_run(const struct exec_options *o, struct err *e)
{
	int status = exec_client_run(o, e);

	if (status != EXEC_NOT_BEGUN)
		return status;
	if (registry_await_end(o->dir, END_MS) == 0)
		return JOIN_ENDED;
	err_set(e,
		"%s: it is ending, and takes long; try again when \"sandgate ls\" no longer says that "
		"it runs",
		o->name);
	return EXIT_SANDGATE;
}
