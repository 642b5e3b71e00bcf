/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/host_links.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <time.h>

#include "base/compiler.h"

enum { RECEIVE_MAX = 32 * 1024, V4_BITS = 32, V6_BITS = 128, V4_MAPPED_BITS = 96 };

int host_links_watch(void)
{
	struct sockaddr_nl a = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

void host_links_drain(int watch)
{
	char room[RECEIVE_MAX];

	/* ENOBUFS: announcements were lost; everything is read again all the same. */
	while (recv(watch, room, sizeof(room), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		errno = 0;
}

static int add(struct host_prefixes *out, const struct addr *a, unsigned bits)
{
	struct prefix p = {.addr = addr_masked(a, bits), .bits = (uint8_t)bits};

	for (size_t i = 0; i < out->n; i++)
		if (out->prefix[i].bits <= p.bits && prefix_contains(&out->prefix[i], &p.addr))
			return 0;
	if (out->n == HOST_PREFIXES_MAX)
		return -E2BIG;
	out->prefix[out->n++] = p;
	return 0;
}

/* A subnet of length 0 would be the whole world: such an address says nothing about neighbours. */
static int add_address(struct host_prefixes *out, const struct ifaddrmsg *m, const uint8_t *octets)
{
	bool v4 = m->ifa_family == AF_INET;
	struct addr a = v4 ? addr_from_v4(octets) : addr_from_v6(octets);
	unsigned base = v4 ? V4_MAPPED_BITS : 0;
	int rc;

	if (m->ifa_prefixlen > (v4 ? V4_BITS : V6_BITS))
		return 0;
	rc = m->ifa_prefixlen ? add(out, &a, base + m->ifa_prefixlen) : 0;
	return rc ? rc : add(out, &a, V6_BITS);
}

static int on_address(const struct nlmsghdr *h, void *ctx)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	struct host_prefixes *out = ctx;
	const struct nlattr *a;
	size_t want;

	if (h->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(h) < sizeof(*m) ||
	    (m->ifa_family != AF_INET && m->ifa_family != AF_INET6))
		return MNL_CB_OK;
	want = m->ifa_family == AF_INET ? 4 : 16;
	mnl_attr_for_each(a, h, sizeof(*m))
	{
		int type = mnl_attr_get_type(a);

		if ((type != IFA_ADDRESS && type != IFA_LOCAL) ||
		    mnl_attr_get_payload_len(a) < want)
			continue;
		/* On a point-to-point link IFA_ADDRESS is the other end: as near as a neighbour. */
		errno = -add_address(out, m, mnl_attr_get_payload(a));
		if (errno)
			return MNL_CB_ERROR;
	}
	return MNL_CB_OK;
}

static int dump(struct mnl_socket *s, struct host_prefixes *out)
{
	char room[RECEIVE_MAX];
	struct nlmsghdr *h = mnl_nlmsg_put_header(room);
	struct ifaddrmsg *m;
	unsigned seq = (unsigned)time(NULL), port = mnl_socket_get_portid(s);
	int run = MNL_CB_OK;

	h->nlmsg_type = RTM_GETADDR;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	h->nlmsg_seq = seq;
	m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	m->ifa_family = AF_UNSPEC;
	if (mnl_socket_sendto(s, h, h->nlmsg_len) < 0)
		return -errno;
	while (run > MNL_CB_STOP) {
		ssize_t n = mnl_socket_recvfrom(s, room, sizeof(room));

		run = n < 0 ? MNL_CB_ERROR
			    : mnl_cb_run(room, (size_t)n, seq, port, on_address, out);
	}
	return run < 0 ? -errno : 0;
}

int host_links_read(struct host_prefixes *out)
{
	struct mnl_socket *s = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int rc;

	out->n = 0;
	if (!s)
		return -errno;
	rc = mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0 ? -errno : dump(s, out);
	mnl_socket_close(s);
	return rc;
}
