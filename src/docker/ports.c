/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOSTS_MAX = 2, TRIES = 64 }; /* of a port that the kernel chose for one family alone */

struct choice {
	struct attach_publish *v;
	size_t n;
	int *held; /* sockets on what is chosen already, so that nothing is chosen twice */
};

/* A socket on the port, bound and not listening, or -errno. Port 0: *port is what it got. */
static int hold(const struct addr *host, uint16_t *port)
{
	struct endpoint at = {.addr = *host, .port = *port};
	struct sockaddr_storage a;
	socklen_t n = endpoint_to_sockaddr(&at, &a), size = sizeof(a);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* One that listens: two that are only bound may share a port by SO_REUSEADDR. */
	if (bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 1) == 0 &&
	    getsockname(fd, (struct sockaddr *)&a, &size) == 0 && endpoint_from_sockaddr(&a, &at)) {
		*port = at.port;
		return fd;
	}
	rc = errno ? -errno : -EINVAL;
	close(fd);
	return rc;
}

static bool is_no_ipv6(const struct addr *host, int rc)
{
	return !addr_is_v4(host) && (rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL);
}

/* Holds the port on every host, which may choose it. 0, or -errno with nothing held. */
static int hold_on_all(struct choice *c, const struct addr *hosts, size_t n_hosts, bool both,
		       uint16_t inside, uint16_t *port)
{
	size_t before = c->n;

	for (size_t i = 0; i < n_hosts; i++) {
		int fd = hold(&hosts[i], port);

		if (both && is_no_ipv6(&hosts[i], fd))
			continue;
		if (fd < 0) {
			while (c->n > before)
				close(c->held[--c->n]);
			return fd;
		}
		c->held[c->n] = fd;
		c->v[c->n++] = (struct attach_publish){.host = {.addr = hosts[i], .port = *port},
						       .sandbox = inside};
	}
	return 0;
}

static int refuse(const struct docker_port *p, int rc, struct err *e)
{
	char host[ADDR_TEXT_MAX];
	const char *where = p->any_host ? "every address" : addr_format(&p->host, host);

	if (p->host_low == p->host_high && p->host_low)
		return err_set(e, "-p: port %u of %s cannot be listened on: %s; publish another",
			       p->host_low, where, strerror(-rc));
	if (p->host_low)
		return err_set(e,
			       "-p: none of the ports %u to %u of %s can be listened on: %s; "
			       "publish others",
			       p->host_low, p->host_high, where, strerror(-rc));
	return err_set(e, "-p: no port of %s can be listened on: %s; publish on another address",
		       where, strerror(-rc));
}

static int choose_one(struct choice *c, const struct docker_port *p, struct err *e)
{
	struct addr hosts[HOSTS_MAX] = {p->host};
	size_t n_hosts = p->any_host ? 2 : 1;
	unsigned tries = p->host_low ? p->host_high - p->host_low + 1U : TRIES;
	int rc = -EINVAL;

	if (p->any_host)
		hosts[0] = addr_from_v4((const uint8_t[4]){0});
	for (unsigned i = 0; i < tries; i++) {
		uint16_t port = p->host_low ? (uint16_t)(p->host_low + i) : 0;

		rc = hold_on_all(c, hosts, n_hosts, p->any_host, p->inside, &port);
		if (rc == 0)
			return 0;
	}
	return refuse(p, rc, e);
}

static int check(const struct docker_port *p, struct err *e)
{
	if (p->proto == IPPROTO_TCP)
		return 0;
	return err_set(e,
		       "-p %u/%s: only TCP ports can be published through the gate; publish "
		       "TCP, or leave it out",
		       p->inside,
		       p->proto == IPPROTO_UDP	  ? "udp"
		       : p->proto == IPPROTO_SCTP ? "sctp"
						  : "another protocol");
}

static int choose_all(struct choice *c, const struct docker_port *ports, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (check(&ports[i], e) || choose_one(c, &ports[i], e))
			return -1;
	return 0;
}

int docker_ports_choose(const struct docker_port *ports, size_t n_ports,
			struct attach_publish **out, size_t *n, struct err *e)
{
	_cleanup_free_ int *held = calloc(n_ports * HOSTS_MAX + 1, sizeof(*held));
	struct choice c = {.v = calloc(n_ports * HOSTS_MAX + 1, sizeof(*c.v)), .held = held};
	int rc = c.v && c.held ? choose_all(&c, ports, n_ports, e) : err_set(e, "out of memory");

	for (size_t i = 0; i < c.n; i++)
		close(held[i]);
	*n = rc ? 0 : c.n;
	*out = *n ? c.v : NULL;
	if (!*out)
		free(c.v);
	return rc;
}
