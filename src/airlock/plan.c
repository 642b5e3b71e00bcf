/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/plan.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* The least that IPv6 needs (RFC 8200, 5). */
enum { MTU_LEAST = 1280 };

static bool kernel_has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno != EAFNOSUPPORT;
	close(fd);
	return true;
}

/*
 * As the kernel's dev_valid_name(): it becomes a part of a path below /proc/sys, where `all` and
 * `default` are of no device (sysctl_dev_name_is_allowed() in net/ipv4/devinet.c).
 */
static bool is_device_name(const char *name)
{
	static const char *const taken[] = {".", "..", "lo", "all", "default"};

	for (size_t i = 0; i < sg_array_len(taken); i++)
		if (strcmp(name, taken[i]) == 0)
			return false;
	return *name && strlen(name) < LINK_NAME_SIZE && !strpbrk(name, "/: \t\n\v\f\r%");
}

static int take_device(const char *name, struct airlock_plan *out, struct err *e)
{
	if (!is_device_name(name))
		return err_set(e, "no device can have that name; take one like eth0");
	strcpy(out->device, name);
	return 0;
}

static int take_mac(const uint8_t *mac, struct airlock_plan *out, struct err *e)
{
	static const uint8_t zero[LINK_MAC_OCTETS];

	if ((mac[0] & 1) || memcmp(mac, zero, sizeof(zero)) == 0)
		return err_set(e, "a MAC address of one device is needed, not of a group; take one "
				  "like 02:73:67:00:00:02");
	if (memcmp(mac, link_mac_gate, LINK_MAC_OCTETS) == 0)
		return err_set(e, "that MAC address is the gate's; take another one");
	memcpy(out->mac, mac, LINK_MAC_OCTETS);
	return 0;
}

/*
 * The pair that takes the place of another one has its numbers, as far as tun0 leaves them: plugins
 * that check what they made look at them.
 */
static int take_inbound(const struct airlock_inbound *i, struct airlock_plan *out, struct err *e)
{
	if (!i || out->link != AIRLOCK_NETNS)
		return err_set(e, "a door for what is opened from outside needs a device that is "
				  "there");
	out->inbound = i;
	out->mtu = i->mtu;
	out->eth0_index = inbound_eth0_index(i);
	if (i->peer > LINK_INDEX_LO && i->peer != out->eth0_index && i->peer != LINK_INDEX_TUN0)
		out->link0_index = i->peer;
	else if (out->eth0_index == LINK_INDEX_LINK0)
		out->link0_index = LINK_INDEX_SPARE_LINK0;
	return 0;
}

int airlock_plan_make(const struct airlock_config *c, struct airlock_plan *out, struct err *e)
{
	uint32_t mtu = c->link == AIRLOCK_TAP ? AIRLOCK_TAP_MTU : AIRLOCK_MTU;
	const uint8_t *mac = c->mac ? c->mac : link_mac_sandbox;

	*out = (struct airlock_plan){
		.link = c->link,
		.others = c->others,
		.door = c->door,
		.capture = c->capture,
		.v6 = kernel_has_ipv6(),
		.uid = c->uid,
		.gid = c->gid,
		.addresses = c->addresses ? *c->addresses : airlock_usual_addresses(),
		.mtu = c->mtu ? c->mtu : mtu,
		.eth0_index = LINK_INDEX_ETH0,
		.link0_index = LINK_INDEX_LINK0,
	};
	if (c->link == AIRLOCK_TAP && !c->addresses)
		out->addresses.v6_prefix = true;
	if (c->others == AIRLOCK_OTHERS_INBOUND) {
		if (take_inbound(c->inbound, out, e) < 0)
			return -1;
		mac = c->inbound->mac;
	}
	if (out->mtu < MTU_LEAST || out->mtu > AIRLOCK_MTU)
		return err_set(e, "an MTU of %u octets; take %d to %d", out->mtu, MTU_LEAST,
			       AIRLOCK_MTU);
	return take_device(c->device ? c->device : "eth0", out, e) || take_mac(mac, out, e) ? -1
											    : 0;
}
