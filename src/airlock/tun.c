/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/tun.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>

#include "airlock/link.h"

static int make_device(const char *device, const char *name, short flags, unsigned index)
{
	/* EXCL: never the device of another gate that is still there. */
	struct ifreq r = {.ifr_flags = (short)(flags | IFF_NO_PI | IFF_TUN_EXCL)};
	int fd = openat(AT_FDCWD, device, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	strncpy(r.ifr_name, name, sizeof(r.ifr_name) - 1);
	if (ioctl(fd, TUNSETIFINDEX, &index) < 0 || ioctl(fd, TUNSETIFF, &r) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

int tun_open(const char *device)
{
	return make_device(device, "tun0", IFF_TUN, LINK_INDEX_TUN0);
}

int tun_open_tap(const char *device)
{
	return make_device(device, "link0", IFF_TAP | IFF_VNET_HDR, LINK_INDEX_LINK0);
}
