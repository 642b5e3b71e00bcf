/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/publish_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BACKLOG = 128 };

static int listen_on(const struct endpoint *at)
{
	struct sockaddr_storage a;
	socklen_t n = endpoint_to_sockaddr(at, &a);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc, on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static bool is_no_ipv6(int rc)
{
	return rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL;
}

static int open_one(const struct publish *p, const char *loopback, struct gate_publish *v,
		    size_t *n, struct err *e)
{
	struct endpoint at = {.port = p->host};
	int fd;

	if (!addr_parse(loopback, strlen(loopback), &at.addr))
		return err_set(e, "%s is no address", loopback);
	fd = listen_on(&at);
	if (fd < 0 && !addr_is_v4(&at.addr) && is_no_ipv6(fd))
		return 0;
	if (fd < 0)
		return err_set(e, "--publish %u:%u: port %u of %s: %s; take another host port",
			       (unsigned)p->host, (unsigned)p->sandbox, (unsigned)p->host, loopback,
			       strerror(-fd));
	v[(*n)++] = (struct gate_publish){.listener = fd, .sandbox_port = p->sandbox};
	return 0;
}

int publish_ports_open(const struct policy *p, struct gate_publish **out, size_t *n, struct err *e)
{
	*n = 0;
	*out = calloc(2 * p->n_publish + 1, sizeof(**out));
	if (!*out)
		return err_set(e, "out of memory");
	for (size_t i = 0; i < p->n_publish; i++) {
		if (open_one(&p->publish[i], "127.0.0.1", *out, n, e) == 0 &&
		    open_one(&p->publish[i], "::1", *out, n, e) == 0)
			continue;
		publish_ports_close(*out, *n);
		*out = NULL;
		*n = 0;
		return -1;
	}
	return 0;
}

void publish_ports_close(struct gate_publish *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* The gate may still be on its way out with a copy: the port is free at once. */
		shutdown(v[i].listener, SHUT_RDWR);
		close(v[i].listener);
	}
	free(v);
}
