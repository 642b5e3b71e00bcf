/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/guest.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "airlock/layout.h"

static const char link_name[] = "link0";

enum { DHCP_SERVER_PORT = 67, HOP_LIMIT = 255 };

static bool set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

static bool bind_to_link(int fd)
{
	return set(fd, SOL_SOCKET, SO_MARK, AIRLOCK_MARK_COPY) &&
	       setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, link_name, sizeof(link_name)) == 0;
}

static bool make_dhcp(int fd)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(DHCP_SERVER_PORT)};

	/* The socket of a gate that died may still be on its way out. */
	return set(fd, SOL_SOCKET, SO_REUSEADDR, 1) && set(fd, SOL_SOCKET, SO_BROADCAST, 1) &&
	       bind_to_link(fd) && bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;
}

static bool make_router(int fd)
{
	struct icmp6_filter only;

	ICMP6_FILTER_SETBLOCKALL(&only);
	ICMP6_FILTER_SETPASS(ND_ROUTER_SOLICIT, &only);
	return setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &only, sizeof(only)) == 0 &&
	       set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, HOP_LIMIT) &&
	       set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, HOP_LIMIT) &&
	       set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) && bind_to_link(fd);
}

static int open_socket(int family, int type, int protocol, bool (*make)(int fd))
{
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol), error;

	if (fd < 0)
		return -errno;
	if (make(fd))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int guest_open_dhcp(void)
{
	return open_socket(AF_INET, SOCK_DGRAM, 0, make_dhcp);
}

int guest_open_router(void)
{
	return open_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6, make_router);
}
