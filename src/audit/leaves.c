/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/leaves.h"

#include <errno.h>

#include "audit/disk.h"

int leaves_open(struct leaves *l, int dir)
{
	l->at = 0;
	l->n = 0;
	l->fd = disk_open(dir, "hashes");
	return l->fd < 0 ? l->fd : 0;
}

void leaves_close(struct leaves *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int leaves_get(void *leaves, uint64_t i, struct digest *out)
{
	struct leaves *l = leaves;

	if (i < l->at || i >= l->at + l->n) {
		ssize_t n = disk_read_at(l->fd, l->ahead, sizeof(l->ahead), i * DIGEST_OCTETS);

		if (n < 0)
			return (int)n;
		l->at = i;
		l->n = (size_t)n / DIGEST_OCTETS;
		if (l->n == 0)
			return -ENODATA;
	}
	*out = l->ahead[i - l->at];
	return 0;
}
