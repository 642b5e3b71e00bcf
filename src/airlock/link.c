/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/link.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <net/if.h>

/* After that of the C library, which knows how to get along with it. */
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/net_namespace.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <string.h>
#include <time.h>

#include "airlock/missing.h"
#include "base/clock.h"

const uint8_t link_mac_gate[LINK_MAC_OCTETS] = {0x02, 's', 'g', 0, 0, 1};
const uint8_t link_mac_sandbox[LINK_MAC_OCTETS] = {0x02, 's', 'g', 0, 0, 2};

enum {
	NEW = NLM_F_CREATE | NLM_F_EXCL,
	CARRIER_WAIT_MS = 1000,
	STATE_WAIT_MS = 4000,
	CARRIER_POLL_NS = 200000
};

static struct ifinfomsg *begin_link(struct nl *n, struct nlmsghdr **h, uint16_t type,
				    uint16_t flags, uint32_t index, const char *doing)
{
	struct ifinfomsg *i;

	*h = nl_begin(n, type, flags, doing);
	i = mnl_nlmsg_put_extra_header(*h, sizeof(*i));
	i->ifi_index = (int)index;
	return i;
}

static uint8_t family_of(const struct addr *a)
{
	return addr_is_v4(a) ? AF_INET : AF_INET6;
}

static void put_addr(struct nlmsghdr *h, uint16_t type, const struct addr *a)
{
	if (addr_is_v4(a))
		mnl_attr_put(h, type, 4, addr_v4_octets(a));
	else
		mnl_attr_put(h, type, 16, a->b);
}

static void put_end(struct nlmsghdr *h, const struct link_end *end, uint32_t mtu)
{
	mnl_attr_put_strz(h, IFLA_IFNAME, end->name);
	mnl_attr_put_u32(h, IFLA_MTU, mtu);
	mnl_attr_put(h, IFLA_ADDRESS, LINK_MAC_OCTETS, end->mac);
}

void link_add_veth(struct nl *n, const struct link_end *here, const struct link_end *there,
		   int there_netns, uint32_t mtu)
{
	struct nlmsghdr *h;
	struct nlattr *info, *data, *peer;
	struct ifinfomsg *i;

	begin_link(n, &h, RTM_NEWLINK, NEW, here->index, "make a veth pair");
	put_end(h, here, mtu);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(h, VETH_INFO_PEER);
	i = mnl_nlmsg_put_extra_header(h, sizeof(*i));
	i->ifi_index = (int)there->index;
	put_end(h, there, mtu);
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)there_netns);
	mnl_attr_nest_end(h, peer);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
}

void link_set_mac_and_mtu(struct nl *n, uint32_t index, const uint8_t *mac, uint32_t mtu)
{
	struct nlmsghdr *h;

	begin_link(n, &h, RTM_NEWLINK, 0, index, "set a device's addresses");
	mnl_attr_put(h, IFLA_ADDRESS, LINK_MAC_OCTETS, mac);
	mnl_attr_put_u32(h, IFLA_MTU, mtu);
}

void link_delete(struct nl *n, uint32_t index)
{
	struct nlmsghdr *h;

	begin_link(n, &h, RTM_DELLINK, 0, index, "delete a device");
}

void link_up(struct nl *n, uint32_t index)
{
	struct nlmsghdr *h;
	struct ifinfomsg *i = begin_link(n, &h, RTM_NEWLINK, 0, index, "set a device up");

	i->ifi_flags = IFF_UP;
	i->ifi_change = IFF_UP;
}

void link_down(struct nl *n, uint32_t index)
{
	struct nlmsghdr *h;
	struct ifinfomsg *i = begin_link(n, &h, RTM_NEWLINK, 0, index, "set a device down");

	i->ifi_change = IFF_UP;
}

static void put_accept_local(struct nlmsghdr *h)
{
	struct nlattr *spec, *inet, *conf;

	spec = mnl_attr_nest_start(h, IFLA_AF_SPEC);
	inet = mnl_attr_nest_start(h, AF_INET);
	conf = mnl_attr_nest_start(h, IFLA_INET_CONF);
	mnl_attr_put_u32(h, IPV4_DEVCONF_ACCEPT_LOCAL, 1);
	mnl_attr_nest_end(h, conf);
	mnl_attr_nest_end(h, inet);
	mnl_attr_nest_end(h, spec);
}

void link_accept_local(struct nl *n, uint32_t index)
{
	struct nlmsghdr *h;

	begin_link(n, &h, RTM_SETLINK, 0, index, "set a device's rules");
	put_accept_local(h);
}

void link_move(struct nl *n, uint32_t index, const char *name, int netns, uint32_t wanted)
{
	struct nlmsghdr *h;

	begin_link(n, &h, RTM_NEWLINK, 0, index, "move a device");
	mnl_attr_put_strz(h, IFLA_IFNAME, name);
	mnl_attr_put_u32(h, IFLA_NET_NS_FD, (uint32_t)netns);
	if (wanted != index)
		mnl_attr_put_u32(h, IFLA_NEW_IFINDEX, wanted);
}

void link_up_tun(struct nl *n, uint32_t mtu, uint32_t queue)
{
	struct nlmsghdr *h;
	struct ifinfomsg *i;

	i = begin_link(n, &h, RTM_NEWLINK, 0, LINK_INDEX_TUN0, "set the tun device up");
	i->ifi_flags = IFF_UP;
	i->ifi_change = IFF_UP;
	mnl_attr_put_u32(h, IFLA_MTU, mtu);
	mnl_attr_put_u32(h, IFLA_TXQLEN, queue);
	put_accept_local(h);
}

void link_add_address(struct nl *n, uint32_t index, const struct addr *a, uint8_t bits)
{
	struct nlmsghdr *h = nl_begin(n, RTM_NEWADDR, NEW, "add an address");
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->ifa_family = family_of(a);
	m->ifa_prefixlen = bits;
	m->ifa_index = index;
	put_addr(h, IFA_LOCAL, a);
	put_addr(h, IFA_ADDRESS, a);
	mnl_attr_put_u32(h, IFA_FLAGS, IFA_F_NODAD | IFA_F_NOPREFIXROUTE);
}

void link_add_neighbour(struct nl *n, uint32_t index, const struct addr *a, const uint8_t *mac)
{
	struct nlmsghdr *h = nl_begin(n, RTM_NEWNEIGH, NEW, "add a neighbour");
	struct ndmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->ndm_family = family_of(a);
	m->ndm_ifindex = (int)index;
	m->ndm_state = NUD_PERMANENT;
	put_addr(h, NDA_DST, a);
	mnl_attr_put(h, NDA_LLADDR, LINK_MAC_OCTETS, mac);
}

void link_add_route(struct nl *n, const struct link_route *r)
{
	struct nlmsghdr *h = nl_begin(n, RTM_NEWROUTE, NEW, "add a route");
	struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->rtm_family = family_of(r->dst);
	m->rtm_dst_len = r->bits;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_type = r->type;
	m->rtm_scope = r->type == RTN_LOCAL ? RT_SCOPE_HOST
		       : r->gateway	    ? RT_SCOPE_UNIVERSE
					    : RT_SCOPE_LINK;
	if (r->bits)
		put_addr(h, RTA_DST, r->dst);
	if (r->gateway) {
		/* The gateway is no part of a prefix on the link: there is no prefix route. */
		m->rtm_flags = RTNH_F_ONLINK;
		put_addr(h, RTA_GATEWAY, r->gateway);
	}
	if (r->source)
		put_addr(h, RTA_PREFSRC, r->source);
	mnl_attr_put_u32(h, RTA_TABLE, r->table);
	mnl_attr_put_u32(h, RTA_OIF, r->index);
	if (r->metric)
		mnl_attr_put_u32(h, RTA_PRIORITY, r->metric);
}

static struct nlmsghdr *begin_rule(struct nl *n, uint16_t type, uint8_t family, uint32_t pref,
				   uint32_t table)
{
	struct nlmsghdr *h =
		nl_begin(n, type, type == RTM_NEWRULE ? NEW : 0, "set a policy routing rule");
	struct fib_rule_hdr *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->family = family;
	m->action = FR_ACT_TO_TBL;
	mnl_attr_put_u32(h, FRA_PRIORITY, pref);
	mnl_attr_put_u32(h, FRA_TABLE, table);
	return h;
}

void link_add_rule(struct nl *n, uint8_t family, uint32_t pref, uint32_t fwmark, uint32_t table)
{
	struct nlmsghdr *h = begin_rule(n, RTM_NEWRULE, family, pref, table);

	if (fwmark)
		mnl_attr_put_u32(h, FRA_FWMARK, fwmark);
}

void link_add_rule_to(struct nl *n, const struct addr *to, uint32_t pref, uint32_t table)
{
	struct nlmsghdr *h = begin_rule(n, RTM_NEWRULE, family_of(to), pref, table);
	struct fib_rule_hdr *m = mnl_nlmsg_get_payload(h);

	m->dst_len = addr_is_v4(to) ? 32 : 128;
	put_addr(h, FRA_DST, to);
}

void link_add_rule_from(struct nl *n, uint8_t family, uint32_t pref, const char *device,
			uint32_t table)
{
	struct nlmsghdr *h = begin_rule(n, RTM_NEWRULE, family, pref, table);

	mnl_attr_put_strz(h, FRA_IIFNAME, device);
}

void link_delete_rule(struct nl *n, uint8_t family, uint32_t pref, uint32_t table)
{
	begin_rule(n, RTM_DELRULE, family, pref, table);
}

int link_dump(struct nl *n, uint16_t type, uint8_t family, const char *doing, nl_each_fn *fn,
	      void *ctx)
{
	struct nlmsghdr *h = nl_begin(n, type, NLM_F_DUMP, doing);
	size_t size = type == RTM_GETLINK   ? sizeof(struct ifinfomsg)
		      : type == RTM_GETADDR ? sizeof(struct ifaddrmsg)
					    : sizeof(struct rtmsg);
	struct rtgenmsg *g = mnl_nlmsg_put_extra_header(h, size);

	g->rtgen_family = family;
	return nl_dump(n, fn, ctx);
}

int link_run(struct nl *n, struct err *e)
{
	int error = n->n ? nl_run(n) : 0;

	return error < 0 ? missing_link(n->failed, -error, e) : 0;
}

/* True when the answer to RTM_GETLINK describes a device that sends. */
static bool sends(const struct nlmsghdr *h)
{
	const struct nlattr *a;
	bool carrier = false, discipline = false;

	mnl_attr_for_each(a, h, sizeof(struct ifinfomsg))
	{
		if (mnl_attr_get_type(a) == IFLA_CARRIER && mnl_attr_get_payload_len(a) >= 1)
			carrier = mnl_attr_get_u8(a) == 1;
		else if (mnl_attr_get_type(a) == IFLA_QDISC)
			discipline = mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 &&
				     strcmp(mnl_attr_get_str(a), "noop") != 0;
	}
	return carrier && discipline;
}

static bool is_told_up(const struct nlmsghdr *h)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(struct ifinfomsg))
	{
		if (mnl_attr_get_type(a) == IFLA_OPERSTATE && mnl_attr_get_payload_len(a) >= 1)
			return mnl_attr_get_u8(a) == IF_OPER_UP;
	}
	return false;
}

/* One of two states, of which the kernels differ, when there is no carrier. */
static bool is_told_down(const struct nlmsghdr *h)
{
	return !is_told_up(h);
}

static int await(struct nl *n, uint32_t index, bool (*is_there)(const struct nlmsghdr *h),
		 int64_t wait_ms)
{
	mono_t until = mono_add_ms(mono_now(), wait_ms);
	struct timespec pause = {.tv_nsec = CARRIER_POLL_NS};

	for (;;) {
		const struct nlmsghdr *h;
		struct nlmsghdr *request;
		int error;

		begin_link(n, &request, RTM_GETLINK, 0, index, "wait for the link's carrier");
		h = nl_ask(n, &error);
		if (!h)
			return error;
		if (h->nlmsg_type == RTM_NEWLINK && is_there(h))
			return 0;
		if (!mono_before(mono_now(), until)) {
			n->failed = "wait for the link's carrier";
			return -ETIMEDOUT;
		}
		nanosleep(&pause, NULL);
	}
}

int link_await_carrier(struct nl *n, uint32_t index)
{
	return await(n, index, sends, CARRIER_WAIT_MS);
}

int link_await_state(struct nl *n, uint32_t index, bool up)
{
	return await(n, index, up ? is_told_up : is_told_down, STATE_WAIT_MS);
}

int link_knows(struct nl *n, int netns)
{
	const struct nlattr *a;
	const struct nlmsghdr *answer;
	struct nlmsghdr *h = nl_begin(n, RTM_GETNSID, 0, "ask for a namespace's number");
	int error;

	mnl_nlmsg_put_extra_header(h, sizeof(struct rtgenmsg));
	mnl_attr_put_u32(h, NETNSA_FD, (uint32_t)netns);
	answer = nl_ask(n, &error);
	if (!answer)
		return error;
	mnl_attr_for_each(a, answer, sizeof(struct rtgenmsg))
	{
		if (mnl_attr_get_type(a) == NETNSA_NSID && mnl_attr_get_payload_len(a) == 4)
			return (int32_t)mnl_attr_get_u32(a) >= 0;
	}
	return 0;
}
