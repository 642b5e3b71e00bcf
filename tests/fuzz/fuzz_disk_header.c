/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a disk, which a guest may have written: a name is whole, or there is none. */
#include <stdlib.h>

#include "fuzz.h"
#include "sandbox/log/disk_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct disk_header h;

	disk_header_read(span_of(data, size), &h);
	if (strnlen(h.backing, sizeof(h.backing)) == sizeof(h.backing) || (*h.backing && !h.qcow2))
		abort();
	if (*h.backing && !memmem(data, size, h.backing, strlen(h.backing)))
		abort();
	return 0;
}
