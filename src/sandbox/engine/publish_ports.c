/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/publish_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/attach.h"

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

static int refuse(const struct endpoint *at, uint16_t sandbox, int rc, struct err *e)
{
	char text[ENDPOINT_TEXT_MAX];

	return err_set(e, "--publish %u:%u: %s: %s; take another host port", (unsigned)at->port,
		       (unsigned)sandbox, endpoint_format(at, text), err_why(-rc));
}

static int add(struct gate_publish *v, size_t *n, const struct endpoint *at, uint16_t sandbox,
	       struct err *e)
{
	int fd = listen_on(at);

	if (fd < 0)
		return refuse(at, sandbox, fd, e), fd;
	v[(*n)++] = (struct gate_publish){.listener = fd, .sandbox_port = sandbox};
	return 0;
}

static int open_loopbacks(const struct publish *p, struct gate_publish *v, size_t *n, struct err *e)
{
	struct endpoint v4 = {.addr = airlock_address("127.0.0.1"), .port = p->host},
			v6 = {.addr = airlock_address("::1"), .port = p->host};
	int rc = add(v, n, &v4, p->sandbox, e);

	if (rc == 0)
		rc = add(v, n, &v6, p->sandbox, e);
	return is_no_ipv6(rc) ? 0 : rc;
}

static int open_all(const struct run_options *o, struct gate_publish *v, size_t *n, struct err *e)
{
	const struct policy *p = o->policy;
	int rc = 0;

	for (size_t i = 0; i < p->n_publish && rc == 0; i++)
		rc = open_loopbacks(&p->publish[i], v, n, e);
	for (size_t i = 0; o->attach && i < o->attach->n_publish && rc == 0; i++)
		rc = add(v, n, &o->attach->publish[i].host, o->attach->publish[i].sandbox, e);
	return rc ? -1 : 0;
}

int publish_ports_open(const struct run_options *o, struct gate_publish **out, size_t *n,
		       struct err *e)
{
	size_t most = 2 * o->policy->n_publish + (o->attach ? o->attach->n_publish : 0);

	*n = 0;
	*out = calloc(most + 1, sizeof(**out));
	if (!*out)
		return err_set(e, "out of memory");
	if (open_all(o, *out, n, e) == 0)
		return 0;
	publish_ports_close(*out, *n);
	*out = NULL;
	*n = 0;
	return -1;
}

json_t *publish_ports_json(const struct gate_publish *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		struct sockaddr_storage a;
		socklen_t size = sizeof(a);
		char host[ADDR_TEXT_MAX];
		struct endpoint at;

		if (getsockname(v[i].listener, (struct sockaddr *)&a, &size) == 0 &&
		    endpoint_from_sockaddr(&a, &at))
			json_array_append_new(list,
					      json_pack("{s:s, s:i, s:i}", "host",
							addr_format(&at.addr, host), "port",
							at.port, "sandbox", v[i].sandbox_port));
	}
	return list;
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
