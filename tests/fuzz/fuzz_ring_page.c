/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a ring as an earlier version, or a hostile process, has left it. The first octet of
 * the input says how long the file is, the rest is its begin.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/ring_page.h"
#include "fuzz.h"

static int file = -1;

static void write_file(uint8_t how, struct span begin)
{
	const size_t sizes[] = {begin.n, RING_PAGE, ring_size(), ring_size() + RING_PAGE};

	if (ftruncate(file, 0) != 0 || pwrite(file, begin.p, begin.n, 0) != (ssize_t)begin.n ||
	    ftruncate(file, (off_t)sizes[how % 4]) != 0)
		abort();
}

/* What is mapped is of this layout; a second time it is as it was. */
static void look_at(struct ring *ring)
{
	struct record_totals first, again;
	struct record r;
	uint64_t put;
	struct err e;
	struct ring *next;

	ring_mend(ring);
	if (lseek(file, 0, SEEK_END) != (off_t)ring_size() ||
	    !ring_read_settled(ring, &first, &put))
		abort();
	next = ring_map(file, &e);
	if (!next || !ring_read_settled(next, &again, &put) ||
	    memcmp(&first, &again, sizeof(first)) != 0)
		abort();
	if (ring_take(ring, &r) && record_valid(&r) && r.reason >= REASONS)
		abort();
	ring_unmap(next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ring *ring;
	struct err e;

	if (size == 0 || size > RING_PAGE)
		return 0;
	if (file < 0)
		file = memfd_create("ring", MFD_CLOEXEC);
	write_file(data[0], span_of(data + 1, size - 1));
	ring = ring_map(file, &e);
	if (ring)
		look_at(ring);
	else if (errno != EBADMSG)
		abort();
	ring_unmap(ring);
	return 0;
}
