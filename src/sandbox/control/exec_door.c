/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/exec_door.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/control/control_socket.h"

int exec_door_open(int dir, struct err *e)
{
	int fd = control_socket_listen(dir, EXEC_SOCKET);

	return fd < 0 ? err_set(e, "the socket for commands: %s", err_why(-fd)) : fd;
}

void exec_door_serve(int door, struct engine *g)
{
	int client = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who;

	if (client < 0)
		return;
	/* One that cannot be handed on is told by the end of its connection. */
	if (control_socket_peer_is_own(client, &who))
		g->class->take_client(g, client);
	close(client);
}
