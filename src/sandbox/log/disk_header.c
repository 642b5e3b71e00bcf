/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/disk_header.h"

/* docs/interop/qcow2.txt of QEMU: magic, version, offset and length of the backing file's name. */
enum { QCOW2_MAGIC = 0x514649fb };

void disk_header_read(struct span octets, struct disk_header *out)
{
	struct reader r = reader_of(octets);
	uint32_t high, offset, length;
	struct span name;

	*out = (struct disk_header){.qcow2 = reader_u32(&r) == QCOW2_MAGIC};
	reader_u32(&r);
	high = reader_u32(&r);
	offset = reader_u32(&r);
	length = reader_u32(&r);
	if (!out->qcow2 || r.bad || high || !offset || !length || length > DISK_BACKING_MAX)
		return;
	r = reader_of(octets);
	reader_take(&r, offset);
	name = reader_take(&r, length);
	if (r.bad || memchr(name.p, 0, name.n))
		return;
	memcpy(out->backing, name.p, name.n);
}
