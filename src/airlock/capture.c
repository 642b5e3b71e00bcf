/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "airlock/capture_ring.h"

static bool make_ring(int fd)
{
	const int version = TPACKET_V3;
	const struct tpacket_req3 ring = {
		.tp_block_size = CAPTURE_BLOCK_OCTETS,
		.tp_block_nr = CAPTURE_BLOCKS,
		.tp_frame_size = CAPTURE_FRAME_OCTETS,
		.tp_frame_nr = CAPTURE_BLOCK_OCTETS / CAPTURE_FRAME_OCTETS * CAPTURE_BLOCKS,
		.tp_retire_blk_tov = CAPTURE_RETIRE_MS,
	};

	return setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) == 0 &&
	       setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)) == 0;
}

/* Bound before the device is up, the socket has ENETDOWN to tell; it hears all the same. */
static bool bind_to_link(int fd, uint32_t link)
{
	const struct sockaddr_ll all = {.sll_family = AF_PACKET,
					.sll_protocol = htons(ETH_P_ALL),
					.sll_ifindex = (int)link};
	int down;
	socklen_t n = sizeof(down);

	return bind(fd, (const struct sockaddr *)&all, sizeof(all)) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_ERROR, &down, &n) == 0;
}

int capture_open(uint32_t link)
{
	/* Protocol 0 hears nothing before it is bound. */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	if (make_ring(fd) && bind_to_link(fd, link))
		return fd;
	error = -errno;
	close(fd);
	return error;
}
