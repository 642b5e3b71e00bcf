/* SPDX-License-Identifier: Apache-2.0 */
#include "frames/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

/* More than a tap device keeps for its reader (its queue, 500 or 1000). */
enum { DISCARD_MAX = 4096 };

int tap_prepare(int fd)
{
	int size = sizeof(struct virtio_net_hdr);
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    ioctl(fd, TUNSETVNETHDRSZ, &size) < 0 || ioctl(fd, TUNSETOFFLOAD, 0) < 0)
		return -errno;
	return 0;
}

bool tap_write(int fd, struct span frame)
{
	static const struct virtio_net_hdr plain;
	struct iovec part[] = {
		{(void *)(uintptr_t)&plain, sizeof(plain)},
		{(void *)(uintptr_t)frame.p, frame.n},
	};
	ssize_t n;

	do
		n = writev(fd, part, 2);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

/* RFC 1071. */
static uint16_t checksum_of(const uint8_t *p, size_t n)
{
	uint64_t sum = 0;

	for (; n > 1; p += 2, n -= 2)
		sum += (uint16_t)(p[0] << 8 | p[1]);
	if (n)
		sum += (uint16_t)(p[0] << 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

bool tap_complete(const struct virtio_net_hdr *h, uint8_t *frame, size_t n)
{
	size_t start = h->csum_start, at = start + h->csum_offset;
	uint16_t sum;

	if (h->gso_type != VIRTIO_NET_HDR_GSO_NONE)
		return false;
	if (!(h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return true;
	if (at + 2 > n)
		return false;
	/* The field holds the sum of the pseudo header. Zero would say that there is none. */
	sum = checksum_of(frame + start, n - start);
	if (sum == 0)
		sum = 0xffff;
	frame[at] = (uint8_t)(sum >> 8);
	frame[at + 1] = (uint8_t)sum;
	return true;
}

enum tap_read tap_read(int fd, uint8_t *out, size_t cap, size_t *n)
{
	struct virtio_net_hdr h;
	struct iovec part[] = {{&h, sizeof(h)}, {out, cap}};
	ssize_t got;

	do
		got = readv(fd, part, 2);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? TAP_EMPTY : TAP_GONE;
	if ((size_t)got <= sizeof(h))
		return TAP_BAD;
	*n = (size_t)got - sizeof(h);
	return tap_complete(&h, out, *n) ? TAP_FRAME : TAP_BAD;
}

size_t tap_discard(int fd)
{
	uint8_t octets[64];
	size_t gone = 0, n;

	while (gone < DISCARD_MAX) {
		enum tap_read r = tap_read(fd, octets, sizeof(octets), &n);

		if (r == TAP_EMPTY || r == TAP_GONE)
			break;
		gone++;
	}
	return gone;
}
