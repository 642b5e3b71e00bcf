/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/nsfs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "airlock/link.h"
#include "sandbox/supervisor.h"

struct machine_link machine_link_of(const struct machine_options *o)
{
	bool by_name = o && o->by_name;
	struct machine_link l = {
		.fd = by_name ? -1 : MACHINE_FD,
		.tap = by_name ? MACHINE_TAP : NULL,
		.mtu = o && o->mtu ? o->mtu : AIRLOCK_TAP_MTU,
	};

	memcpy(l.mac, o && o->mac ? o->mac : link_mac_sandbox, sizeof(l.mac));
	return l;
}

int machine_configure(struct supervisor *s, struct airlock_config *c, struct err *e)
{
	const struct machine_options *o = s->options->machine;

	if (o) {
		c->mac = o->mac;
		c->mtu = o->mtu;
	}
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- a device that is opened by its name --- */

/* The network that the device is in, and the user namespace that this belongs to. */
struct place {
	int netns, userns;
};

static void place_close(struct place *p)
{
	close_one(&p->netns);
	close_one(&p->userns);
}

static int find_place(int tap, struct place *out, struct err *e)
{
	out->netns = ioctl(tap, TUNGETDEVNETNS, 0);
	out->userns = out->netns < 0 ? -1 : ioctl(out->netns, NS_GET_USERNS);
	if (out->userns >= 0)
		return 0;
	err_set(e, "the network of the tap device: %s", err_why(errno));
	place_close(out);
	return -1;
}

/* It stays when nobody holds it, and that user may take it; who holds it first has it alone. */
static int give_device(int tap, struct err *e)
{
	if (ioctl(tap, TUNSETOWNER, (unsigned long)geteuid()) < 0 ||
	    ioctl(tap, TUNSETPERSIST, 1UL) < 0)
		return err_set(e, "making the tap device one that can be opened by its name: %s",
			       err_why(errno));
	return 0;
}

/* --- the monitor --- */

static int start_in(struct supervisor *s, struct machine *m, const struct place *p, struct err *e)
{
	const struct bwrap_config c = {
		.argv = m->argv,
		.uid = geteuid(),
		.gid = getegid(),
		.userns = p->userns,
		.netns = p->netns,
		.no_network = m->by_name,
	};

	return engine_command_bwrap(s, &c, e);
}

static int start_by_name(struct supervisor *s, struct machine *m, struct err *e)
{
	struct place p = {-1, -1};
	int rc;

	if (give_device(m->tap, e) || find_place(m->tap, &p, e))
		return -1;
	rc = start_in(s, m, &p, e);
	place_close(&p);
	close_one(&m->tap);
	return rc;
}

int machine_start(struct supervisor *s, struct machine *m, struct err *e)
{
	static const struct place nowhere = {-1, -1};

	m->tap = s->airlock.tap;
	s->airlock.tap = -1;
	return m->by_name ? start_by_name(s, m, e) : start_in(s, m, &nowhere, e);
}

int machine_offer(struct supervisor *s, struct err *e)
{
	if (give_device(s->airlock.tap, e))
		return -1;
	close_one(&s->airlock.tap);
	return 0;
}

/* The numbers are fixed: where there is no network, the button is handed in alone. */
static int hand_in(struct machine *m)
{
	int fds[] = {m->tap, m->button};
	struct start_handed h = {.fds = fds, .first = MACHINE_FD};

	if (m->tap < 0) {
		h.fds++;
		h.first = MACHINE_BUTTON;
	}
	h.n = (m->tap >= 0) + (m->button >= 0);
	return h.n ? start_link_hand(&m->command.start, &h) : 0;
}

int machine_let_go(struct machine *m, const sigset_t *blocked)
{
	int rc = hand_in(m);

	close_one(&m->tap);
	close_one(&m->button);
	return rc ? rc : start_link_let_go(&m->command.start, blocked, NULL);
}

void machine_free(struct machine *m)
{
	close_one(&m->tap);
	close_one(&m->button);
	engine_command_free(&m->command);
	machine_words_free(m->argv);
	*m = MACHINE_NONE;
}
