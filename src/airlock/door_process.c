/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/door_process.h"

#include <errno.h>
#include <sys/socket.h>

#include "airlock/door.h"

enum { PLACES_MAX = 3 };

/*
 * Of a sandbox that sandgate made itself, its loopback too: who publishes a port of it means the
 * server on that port. A container's loopback is the container's own, as its engine has it.
 */
static struct door_places find_places(const struct airlock_plan *p)
{
	static struct addr v[PLACES_MAX];
	struct door_places places = {
		.v = v, .transparent = p->link == AIRLOCK_TAP || p->link == AIRLOCK_HANDED};

	if (p->link == AIRLOCK_OWN) {
		v[places.n++] = airlock_address("127.0.0.1");
		v[places.n++] = airlock_address("::1");
	}
	v[places.n++] = p->addresses.sandbox_v4;
	if (p->link == AIRLOCK_NETNS && p->v6)
		v[places.n++] = p->addresses.sandbox_v6;
	return places;
}

/* The door's socket; its other end goes into the message. -1 on failure. */
static int make_door(const struct door_places *places, int keeper, struct airlock_message *m)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(&m->err, "cannot make a socket pair: %s", err_why(errno));
	m->fds[SLOT_DOOR] = pair[1];
	return door_confine(pair[0], keeper, places, &m->err) < 0 ? -1 : pair[0];
}

void door_process_finish(const struct airlock_plan *p, int keeper, struct airlock_message *m)
{
	struct door_places places = find_places(p);
	int door = -1;

	if (m->kind != MESSAGE_FAILED && p->door && (door = make_door(&places, keeper, m)) < 0)
		m->kind = MESSAGE_FAILED;
	if (airlock_message_send(keeper, m) < 0 || m->kind == MESSAGE_FAILED)
		_exit(1);
	if (!p->door)
		_exit(0);
	airlock_message_close_fds(m);
	door_serve(door, &places);
}
