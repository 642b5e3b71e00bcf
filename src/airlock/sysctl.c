/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_OCTETS = 128 };

struct setting {
	const char *name; /* below /proc/sys/net */
	const char *value;
};

/* IPv4 settings are copied from the host's into a new namespace: none is taken for granted. */
static const struct setting airlock_v4[] = {
	{"ipv4/ip_forward", "1"},
	/*
	 * Early demultiplexing ties a SYN from the sandbox to a socket in TIME-WAIT with the same
	 * addresses and ports, and ip_forward drops a packet that carries a socket: connections
	 * would stall as soon as the client's ports wrap. The first one rules IPv6 as well.
	 */
	{"ipv4/ip_early_demux", "0"},
	{"ipv4/tcp_early_demux", "0"},
	{"ipv4/udp_early_demux", "0"},
	/* Every address in the world arrives by tun0, and the way back is never by it. */
	{"ipv4/conf/all/rp_filter", "0"},
	{"ipv4/conf/default/rp_filter", "0"},
	{"ipv4/conf/all/send_redirects", "0"},
	{"ipv4/conf/default/send_redirects", "0"},
	{"ipv4/conf/all/accept_source_route", "0"},
	{"ipv4/conf/default/accept_source_route", "0"},
	/* What the sandbox sends must not fill the host's kernel log. */
	{"ipv4/conf/all/log_martians", "0"},
	{"ipv4/conf/default/log_martians", "0"},
	/* When the gate is gone every datagram is refused at once, not one in a second. */
	{"ipv4/icmp_ratemask", "0"},
	/* A cookie would let an ACK make a connection without a SYN that the gate has passed. */
	{"ipv4/tcp_syncookies", "0"},
	{"ipv4/tcp_max_syn_backlog", "4096"},
	/*
	 * The link is memory and loses nothing: what a host prefers for its network (BBR) only
	 * paces it, which took a third of a download's throughput. Reno is open to every namespace.
	 */
	{"ipv4/tcp_congestion_control", "reno"},
};

static const struct setting airlock_v6[] = {
	{"ipv6/conf/all/disable_ipv6", "0"},
	{"ipv6/conf/default/disable_ipv6", "0"},
	{"ipv6/conf/default/addr_gen_mode", "1"},
	{"ipv6/conf/all/forwarding", "1"},
	{"ipv6/icmp/ratelimit", "0"},
};

static const struct setting sandbox_v4[] = {
	/* What listens inside cannot be reached but by --publish: low ports need no privilege. */
	{"ipv4/ip_unprivileged_port_start", "0"},
	{"ipv4/tcp_congestion_control", "reno"},
};

/* addr_gen_mode none: no link-local address, so no router solicitation and less link noise. */
static const struct setting sandbox_v6[] = {
	{"ipv6/conf/all/disable_ipv6", "0"},
	{"ipv6/conf/default/disable_ipv6", "0"},
	{"ipv6/conf/default/addr_gen_mode", "1"},
};

static int write_setting(const char *name, const char *value, struct err *e)
{
	_cleanup_fd_ int fd = -1;
	char path[PATH_OCTETS];

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == EROFS)
		return err_set(e,
			       "/proc/sys is mounted read-only; run sandgate where it is writable "
			       "(in a container: with its own /proc, not a masked one)");
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return err_set(e, "cannot set %s to %s: %s; Linux 5.15 or newer is needed", path,
			       value, strerror(errno));
	return 0;
}

static int write_settings(const struct setting *s, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (write_setting(s[i].name, s[i].value, e) < 0)
			return -1;
	return 0;
}

int sysctl_set_airlock(bool v6, struct err *e)
{
	if (write_settings(airlock_v4, sg_array_len(airlock_v4), e) < 0)
		return -1;
	return v6 ? write_settings(airlock_v6, sg_array_len(airlock_v6), e) : 0;
}

int sysctl_set_sandbox(bool v6, gid_t gid, struct err *e)
{
	char range[32];

	if (write_settings(sandbox_v4, sg_array_len(sandbox_v4), e) < 0)
		return -1;
	/* Only ids that are mapped into the writer's user namespace are taken. */
	snprintf(range, sizeof(range), "%u %u", gid, gid);
	if (write_setting("ipv4/ping_group_range", range, e) < 0)
		return -1;
	return v6 ? write_settings(sandbox_v6, sg_array_len(sandbox_v6), e) : 0;
}

int sysctl_open_low_ports(struct err *e)
{
	return write_setting("ipv4/ip_unprivileged_port_start", "0", e);
}

static bool write_device_setting(const char *device, const char *name, const char *value)
{
	char path[PATH_OCTETS];
	struct err e;

	snprintf(path, sizeof(path), "ipv6/conf/%s/%s", device, name);
	return write_setting(path, value, &e) == 0;
}

bool sysctl_open_ipv6(const char *device)
{
	/* The kernel makes a link-local address when IPv6 is turned on, unless it is told before. */
	return write_device_setting(device, "addr_gen_mode", "1") &&
	       write_device_setting(device, "disable_ipv6", "0");
}

long sysctl_read(const char *name, long absent)
{
	_cleanup_fd_ int fd = -1;
	char path[PATH_OCTETS], text[32] = "";
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return absent;
	got = read(fd, text, sizeof(text) - 1);
	return got > 0 ? strtol(text, NULL, 10) : absent;
}
