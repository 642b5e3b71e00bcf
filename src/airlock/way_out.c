/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/way_out.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "airlock/link.h"
#include "airlock/missing.h"
#include "base/addr.h"

enum { DEVICES_MAX = 64, KIND_SIZE = 16, TRIES = 3 };

struct device {
	uint32_t index;
	unsigned flags;
	char name[LINK_NAME_SIZE];
	char kind[KIND_SIZE]; /* empty: hardware, or loopback */
	bool leaves;	      /* its other end, or what it stands on, is in another namespace */
};

struct devices {
	struct device v[DEVICES_MAX];
	size_t n;
};

static void copy_text(char *to, size_t size, const struct nlattr *a)
{
	if (mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(to, size, "%s", mnl_attr_get_str(a));
}

static void read_kind(const struct nlattr *info, struct device *d)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, info) if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
		copy_text(d->kind, sizeof(d->kind), a);
}

static struct device device_of(const struct nlmsghdr *h)
{
	const struct ifinfomsg *i = mnl_nlmsg_get_payload(h);
	struct device d = {.index = (uint32_t)i->ifi_index, .flags = i->ifi_flags};
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(*i))
	{
		if (mnl_attr_get_type(a) == IFLA_IFNAME)
			copy_text(d.name, sizeof(d.name), a);
		else if ((mnl_attr_get_type(a) & NLA_TYPE_MASK) == IFLA_LINKINFO)
			read_kind(a, &d);
		else if (mnl_attr_get_type(a) == IFLA_LINK_NETNSID)
			d.leaves = true;
	}
	return d;
}

/*
 * drivers/net and net/ipv4, net/ipv6: the devices that each namespace begins with. A name alone says
 * nothing: where the module is not loaded any device may have it, and where sysctl
 * net.core.fb_tunnels_only_for_init_net is set a tunnel of another namespace's.
 */
static bool is_of_every_namespace(const struct device *d)
{
	static const struct {
		const char *name, *kind;
	} all[] = {{"tunl0", "ipip"},	  {"gre0", "gre"},	 {"gretap0", "gretap"},
		   {"erspan0", "erspan"}, {"ip_vti0", "vti"},	 {"ip6_vti0", "vti6"},
		   {"sit0", "sit"},	  {"ip6tnl0", "ip6tnl"}, {"ip6gre0", "ip6gre"}};

	for (size_t i = 0; i < sg_array_len(all); i++)
		if (strcmp(d->name, all[i].name) == 0)
			return strcmp(d->kind, all[i].kind) == 0 && !d->leaves &&
			       !(d->flags & IFF_UP);
	return false;
}

static int take_device(void *ctx, const struct nlmsghdr *h)
{
	struct devices *all = ctx;
	struct device d;

	if (h->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(h) < sizeof(struct ifinfomsg))
		return -EBADMSG;
	d = device_of(h);
	if ((d.flags & IFF_LOOPBACK) || is_of_every_namespace(&d))
		return 0;
	if (all->n == DEVICES_MAX)
		return -E2BIG;
	all->v[all->n++] = d;
	return 0;
}

static int list_devices(struct nl *n, struct devices *out, struct err *e)
{
	int r = -EINTR;

	for (int i = 0; i < TRIES && r == -EINTR; i++) {
		out->n = 0;
		r = link_dump(n, RTM_GETLINK, AF_UNSPEC, "list the devices", take_device, out);
	}
	if (r == -E2BIG)
		return err_set(e, "the namespace has more than %d devices; take most of them away",
			       DEVICES_MAX);
	return r < 0 ? missing_link(n->failed, -r, e) : 0;
}

static int remove_device(struct nl *n, const struct device *d, struct err *e)
{
	int r;

	link_delete(n, d->index);
	r = nl_run(n);
	/* Deleting one end of a veth pair, or a device that others stand on, takes those too. */
	if (r == 0 || r == -ENODEV)
		return 0;
	return err_set(e,
		       "the device %s of the namespace cannot be taken away: %s; move it out of "
		       "the namespace first (ip link set %s netns 1)",
		       d->name, r == -EOPNOTSUPP ? "it is hardware" : strerror(-r), d->name);
}

int way_out_remove(struct nl *n, uint32_t link, struct err *e)
{
	struct devices all;

	if (list_devices(n, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].index != link && remove_device(n, &all.v[i], e) < 0)
			return -1;
	return 0;
}

int way_out_list(struct nl *n, uint32_t link, char *out, size_t size, struct err *e)
{
	struct devices all;
	size_t used = 0;

	*out = 0;
	if (list_devices(n, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < all.n && used + LINK_NAME_SIZE + 2 < size; i++) {
		if (all.v[i].index == link)
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
					 all.v[i].name);
	}
	/* Whoever is root in the namespace has named them. */
	for (char *p = out; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return 0;
}

struct route_check {
	uint32_t link;
	char found[128]; /* what leads out, in words; empty: nothing */
};

static const char *text_of_target(const struct rtmsg *m, const struct nlattr *dst,
				  char out[PREFIX_TEXT_MAX])
{
	bool v4 = m->rtm_family == AF_INET;
	struct prefix p;

	if (!dst || mnl_attr_get_payload_len(dst) != (v4 ? 4 : 16))
		return "everywhere";
	p.addr = v4 ? addr_from_v4(mnl_attr_get_payload(dst))
		    : addr_from_v6(mnl_attr_get_payload(dst));
	p.bits = (uint8_t)(m->rtm_dst_len + (v4 ? 96 : 0));
	return prefix_format(&p, out);
}

/* Those that lead nowhere (unreachable, prohibit, ...) have no device, or lo. */
static bool leads_somewhere(const struct rtmsg *m)
{
	return m->rtm_type != RTN_UNREACHABLE && m->rtm_type != RTN_PROHIBIT &&
	       m->rtm_type != RTN_BLACKHOLE && m->rtm_type != RTN_THROW;
}

static bool is_plain(const struct nlattr *a)
{
	uint16_t type = mnl_attr_get_type(a) & NLA_TYPE_MASK;

	return type != RTA_MULTIPATH && type != RTA_ENCAP && type != RTA_VIA;
}

static int take_route(void *ctx, const struct nlmsghdr *h)
{
	struct route_check *c = ctx;
	const struct rtmsg *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *a, *dst = NULL;
	uint32_t out = 0;
	bool plain = true;
	char text[PREFIX_TEXT_MAX];

	if (h->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(h) < sizeof(*m))
		return -EBADMSG;
	mnl_attr_for_each(a, h, sizeof(*m))
	{
		plain = plain && is_plain(a);
		if (mnl_attr_get_type(a) == RTA_DST)
			dst = a;
		else if (mnl_attr_get_type(a) == RTA_OIF && mnl_attr_get_payload_len(a) == 4)
			out = mnl_attr_get_u32(a);
	}
	if (*c->found || !leads_somewhere(m) ||
	    (plain && (out == LINK_INDEX_LO || (out && out == c->link))))
		return 0;
	snprintf(c->found, sizeof(c->found), "the route to %s (table %u)",
		 text_of_target(m, dst, text), m->rtm_table);
	return 0;
}

static int verify_routes(struct nl *n, uint32_t link, uint8_t family, struct err *e)
{
	struct route_check c;
	int r = -EINTR;

	for (int i = 0; i < TRIES && r == -EINTR; i++) {
		c = (struct route_check){.link = link};
		r = link_dump(n, RTM_GETROUTE, family, "list the routes", take_route, &c);
	}
	if (r < 0)
		return missing_link(n->failed, -r, e);
	return *c.found ? err_set(e, "%s of the namespace leads another way out; take it away",
				  c.found)
			: 0;
}

int way_out_verify(struct nl *n, uint32_t link, struct err *e)
{
	struct devices all;

	if (list_devices(n, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].index != link)
			return err_set(e,
				       "the device %s of the namespace is another way out; take it "
				       "away",
				       all.v[i].name);
	if (verify_routes(n, link, AF_INET, e) < 0)
		return -1;
	return verify_routes(n, link, AF_INET6, e);
}
