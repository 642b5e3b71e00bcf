/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/tun.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include "airlock/link.h"

int tun_open(const char *device)
{
	/* EXCL: never the device of another gate that is still there. */
	struct ifreq r = {.ifr_name = "tun0", .ifr_flags = IFF_TUN | IFF_NO_PI | IFF_TUN_EXCL};
	unsigned index = LINK_INDEX_TUN0;
	int fd = openat(AT_FDCWD, device, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, TUNSETIFINDEX, &index) < 0 || ioctl(fd, TUNSETIFF, &r) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}
