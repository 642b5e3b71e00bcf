/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/inbound.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>

#include "airlock/link.h"
#include "airlock/missing.h"

enum { TRIES = 3 };

struct reading {
	const char *device;
	bool found, is_veth;
	struct airlock_inbound *to;
};

static const struct addr any_v4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};

static bool has_name(const struct nlmsghdr *h, const char *name)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(struct ifinfomsg))
	{
		if (mnl_attr_get_type(a) == IFLA_IFNAME)
			return mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 &&
			       strcmp(mnl_attr_get_str(a), name) == 0;
	}
	return false;
}

static bool is_veth(const struct nlattr *info)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, info)
	{
		if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
			return mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 &&
			       strcmp(mnl_attr_get_str(a), "veth") == 0;
	}
	return false;
}

static void take_link_attribute(struct reading *r, const struct nlattr *a)
{
	size_t n = mnl_attr_get_payload_len(a);

	switch (mnl_attr_get_type(a)) {
	case IFLA_MTU:
		r->to->mtu = n == 4 ? mnl_attr_get_u32(a) : 0;
		break;
	case IFLA_LINK:
		r->to->peer = n == 4 ? mnl_attr_get_u32(a) : 0;
		break;
	case IFLA_ADDRESS:
		if (n == sizeof(r->to->mac))
			memcpy(r->to->mac, mnl_attr_get_payload(a), n);
		break;
	case IFLA_LINKINFO:
		r->is_veth = is_veth(a);
		break;
	}
}

static int take_link(void *ctx, const struct nlmsghdr *h)
{
	struct reading *r = ctx;
	const struct ifinfomsg *i = mnl_nlmsg_get_payload(h);
	const struct nlattr *a;

	if (h->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(h) < sizeof(*i))
		return -EBADMSG;
	if (r->found || !has_name(h, r->device))
		return 0;
	r->found = true;
	r->to->index = (uint32_t)i->ifi_index;
	mnl_attr_for_each(a, h, sizeof(*i)) take_link_attribute(r, a);
	return 0;
}

/* False when it is no address of that family. */
static bool read_addr(const struct nlattr *a, uint8_t family, struct addr *out)
{
	if (family == AF_INET && mnl_attr_get_payload_len(a) == 4)
		*out = addr_from_v4(mnl_attr_get_payload(a));
	else if (family == AF_INET6 && mnl_attr_get_payload_len(a) == 16)
		*out = addr_from_v6(mnl_attr_get_payload(a));
	else
		return false;
	return true;
}

/* IFA_LOCAL is the device's own; without a peer IPv6 has IFA_ADDRESS alone. */
static bool read_own_addr(const struct nlmsghdr *h, uint8_t family, struct addr *out)
{
	const struct nlattr *a;
	bool local = false, any = false;

	mnl_attr_for_each(a, h, sizeof(struct ifaddrmsg))
	{
		if (mnl_attr_get_type(a) == IFA_LOCAL)
			local = any = read_addr(a, family, out);
		else if (mnl_attr_get_type(a) == IFA_ADDRESS && !local)
			any = read_addr(a, family, out);
	}
	return any;
}

static int take_address(void *ctx, const struct nlmsghdr *h)
{
	struct reading *r = ctx;
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	struct inbound_address one;

	if (h->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(h) < sizeof(*m))
		return -EBADMSG;
	if (m->ifa_index != r->to->index || m->ifa_scope == RT_SCOPE_LINK)
		return 0;
	one.bits = m->ifa_prefixlen;
	if (!read_own_addr(h, m->ifa_family, &one.addr))
		return -EBADMSG;
	if (r->to->n_addresses == INBOUND_ADDRESSES_MAX)
		return -E2BIG;
	r->to->addresses[r->to->n_addresses++] = one;
	return 0;
}

static bool is_link_local(const struct addr *a)
{
	return !addr_is_v4(a) && a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* The kernel's order is that of preference: of two to the same place the first one is in use. */
static bool is_known_route(const struct airlock_inbound *i, const struct inbound_route *r)
{
	for (size_t n = 0; n < i->n_routes; n++)
		if (i->routes[n].bits == r->bits && addr_equal(&i->routes[n].to, &r->to) &&
		    addr_is_v4(&i->routes[n].to) == addr_is_v4(&r->to))
			return true;
	return false;
}

static bool read_route(const struct nlmsghdr *h, const struct rtmsg *m, struct inbound_route *out,
		       uint32_t *device)
{
	const struct nlattr *a;
	bool good = true;

	*device = 0;
	*out = (struct inbound_route){.bits = m->rtm_dst_len, .direct = true};
	if (m->rtm_family == AF_INET)
		out->to = any_v4;
	mnl_attr_for_each(a, h, sizeof(*m))
	{
		if (mnl_attr_get_type(a) == RTA_OIF && mnl_attr_get_payload_len(a) == 4)
			*device = mnl_attr_get_u32(a);
		else if (mnl_attr_get_type(a) == RTA_DST)
			good = good && read_addr(a, m->rtm_family, &out->to);
		else if (mnl_attr_get_type(a) == RTA_GATEWAY) {
			good = good && read_addr(a, m->rtm_family, &out->gateway);
			out->direct = false;
		}
	}
	return good;
}

static int take_route(void *ctx, const struct nlmsghdr *h)
{
	struct reading *r = ctx;
	const struct rtmsg *m = mnl_nlmsg_get_payload(h);
	struct inbound_route one;
	uint32_t device;

	if (h->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(h) < sizeof(*m))
		return -EBADMSG;
	if (m->rtm_table != RT_TABLE_MAIN || m->rtm_type != RTN_UNICAST)
		return 0;
	if (!read_route(h, m, &one, &device))
		return -EBADMSG;
	if (device != r->to->index || is_link_local(&one.to) || is_known_route(r->to, &one))
		return 0;
	if (r->to->n_routes == INBOUND_ROUTES_MAX)
		return -E2BIG;
	r->to->routes[r->to->n_routes++] = one;
	return 0;
}

static int read_all(struct nl *n, struct reading *r)
{
	int error;

	*r->to = (struct airlock_inbound){0};
	r->found = r->is_veth = false;
	error = link_dump(n, RTM_GETLINK, AF_UNSPEC, "list the devices", take_link, r);
	if (!error && r->found)
		error = link_dump(n, RTM_GETADDR, AF_UNSPEC, "list the addresses", take_address, r);
	if (!error && r->found)
		error = link_dump(n, RTM_GETROUTE, AF_INET, "list the routes", take_route, r);
	if (!error && r->found)
		error = link_dump(n, RTM_GETROUTE, AF_INET6, "list the routes", take_route, r);
	return error;
}

/* A socket of that namespace; this process is back in its own. 0 or -errno. */
static int open_route(int netns, struct nl *n)
{
	_cleanup_fd_ int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int error;

	if (own < 0 || setns(netns, CLONE_NEWNET) < 0)
		return -errno;
	error = nl_open(n, NETLINK_ROUTE);
	/* In the wrong network nothing that follows would be right. */
	if (setns(own, CLONE_NEWNET) < 0)
		abort();
	return error;
}

int inbound_read(int netns, const char *device, struct airlock_inbound *out, struct err *e)
{
	struct reading r = {.device = device, .to = out};
	struct nl n;
	int error = open_route(netns, &n);

	if (error < 0)
		return err_set(e, "the network namespace cannot be entered: %s", strerror(-error));
	error = -EINTR;
	for (int i = 0; i < TRIES && error == -EINTR; i++)
		error = read_all(&n, &r);
	nl_close(&n);
	if (error == -E2BIG)
		return err_set(e, "%s has more than %d addresses or %d routes", device,
			       INBOUND_ADDRESSES_MAX, INBOUND_ROUTES_MAX);
	if (error < 0)
		return missing_link(n.failed ? n.failed : "read the devices", -error, e);
	if (!r.found) {
		err_set(e, "the namespace has no device %s", device);
		return -ENODEV;
	}
	if (r.is_veth)
		return 0;
	err_set(e,
		"%s is no veth device; only one end of a veth pair can become the door of what is "
		"opened from outside; set inbound to false",
		device);
	return -ENOTSUP;
}

int inbound_leave_dead(int netns, const char *device, const struct airlock_inbound *i,
		       struct err *e)
{
	const struct link_end here = {device, LINK_INDEX_ETH0, i->mac};
	const struct link_end there = {"nowhere", LINK_INDEX_SPARE_LINK0, link_mac_gate};
	struct airlock_inbound now;
	struct nl n;
	int error = inbound_read(netns, device, &now, e), r;

	if (error == 0 || error == -ENOTSUP)
		return 0;
	error = open_route(netns, &n);
	if (error < 0)
		return err_set(e, "the network namespace cannot be entered: %s", strerror(-error));
	link_add_veth(&n, &here, &there, netns, i->mtu);
	for (size_t at = 0; at < i->n_addresses; at++)
		link_add_address(&n, LINK_INDEX_ETH0, &i->addresses[at].addr,
				 i->addresses[at].bits);
	r = link_run(&n, e);
	nl_close(&n);
	return r;
}

static const struct addr *first_address(const struct airlock_inbound *i, bool v4, uint8_t *bits)
{
	for (size_t n = 0; n < i->n_addresses; n++)
		if (addr_is_v4(&i->addresses[n].addr) == v4) {
			*bits = i->addresses[n].bits;
			return &i->addresses[n].addr;
		}
	return NULL;
}

struct airlock_addresses inbound_link_addresses(const struct airlock_inbound *i)
{
	struct airlock_addresses a = airlock_usual_addresses();
	const struct addr *v4 = first_address(i, true, &a.v4_bits),
			  *v6 = first_address(i, false, &a.v6_bits);

	if (v4)
		a.sandbox_v4 = *v4;
	if (v6)
		a.sandbox_v6 = *v6;
	return a;
}

uint32_t inbound_eth0_index(const struct airlock_inbound *i)
{
	return i->index == LINK_INDEX_TUN0 ? LINK_INDEX_SPARE_DOOR0 : i->index;
}

const struct addr *inbound_gateway(const struct airlock_inbound *i, bool v4)
{
	for (size_t n = 0; n < i->n_routes; n++)
		if (!i->routes[n].bits && !i->routes[n].direct &&
		    addr_is_v4(&i->routes[n].to) == v4)
			return &i->routes[n].gateway;
	return NULL;
}
