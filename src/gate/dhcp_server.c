/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dhcp_server.h"

#include <seccomp.h>
#include <sys/socket.h>

#include "gate/dhcp.h"
#include "gate/paced.h"

enum { CLIENT_PORT = 68 };

const int dhcp_server_syscalls[] = {SCMP_SYS(recvfrom), SCMP_SYS(sendto), -1};

struct dhcp_server {
	struct paced paced;
	struct gate *gate;
	uint8_t mac[DHCP_MAC];
	struct dhcp_lease lease;
};

static void answer(const struct dhcp_server *d, const struct dhcp_message *m, enum dhcp_answer a)
{
	struct endpoint to = {dhcp_answer_goes_to(m, &d->lease, a), CLIENT_PORT};
	uint8_t octets[DHCP_REPLY_MAX];
	struct buf b = buf_of(octets, sizeof(octets));
	struct sockaddr_storage ss;
	socklen_t n = endpoint_to_sockaddr(&to, &ss);

	dhcp_build(&b, m, &d->lease, a);
	/* A link that is full loses it; the client asks again. */
	if (!b.full)
		(void)!sendto(d->paced.fd, b.p, b.n, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (struct sockaddr *)&ss, n);
}

static void take_message(const struct dhcp_server *d, struct span octets)
{
	enum dhcp_answer a = DHCP_ANSWER_WRONG;
	struct dhcp_message m;

	if (dhcp_parse(octets, &m) && memcmp(m.mac, d->mac, DHCP_MAC) == 0)
		a = dhcp_answer_to(&m, &d->lease);
	if (a == DHCP_ANSWER_WRONG)
		d->gate->counters->frames_noise++;
	else if (a != DHCP_ANSWER_NONE)
		answer(d, &m, a);
}

static bool take(struct paced *p)
{
	const struct dhcp_server *d = sg_container_of(p, struct dhcp_server, paced);
	/* One octet more than there may be: a message that was cut is none. */
	uint8_t octets[DHCP_OCTETS_MAX + 1];
	ssize_t n = recv(p->fd, octets, sizeof(octets), MSG_DONTWAIT);

	if (n >= 0)
		take_message(d, span_of(octets, (size_t)n));
	return n >= 0;
}

struct dhcp_server *dhcp_server_new(struct gate *g, const struct gate_setup *s)
{
	struct airlock_addresses usual = airlock_usual_addresses();
	const struct airlock_addresses *a = s->addresses ? s->addresses : &usual;
	struct dhcp_server *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->gate = g;
	memcpy(d->mac, s->guest_mac, DHCP_MAC);
	d->lease = (struct dhcp_lease){
		.server = a->gate_v4,
		.client = a->sandbox_v4,
		.bits = a->v4_bits,
		.mtu = (uint16_t)s->guest_mtu,
		.seconds = DHCP_LEASE_S,
	};
	if (paced_begin(&d->paced, g->loop, s->dhcp, take) == 0)
		return d;
	free(d);
	return NULL;
}
