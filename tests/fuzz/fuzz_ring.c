/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealer's reading of what a hostile gate wrote: anything anywhere in the mapping, between two
 * takes. A step of the input is an offset (3 octets), a length (1) and that many octets.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/event.h"
#include "fuzz.h"

enum { TAKES = 16 };

static struct event_printer *printer;
static uint8_t *memory;
static struct ring *ring;

static void make(void)
{
	struct err e;
	int fd = memfd_create("ring", MFD_CLOEXEC);

	printer = event_printer_new("box", NULL);
	ring = fd < 0 ? NULL : ring_map(fd, &e);
	memory = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!ring || !printer || memory == MAP_FAILED)
		abort();
	close(fd);
}

static void take_some(void)
{
	struct record_totals totals;
	char text[EVENT_MAX];
	struct record r;
	uint64_t put;

	for (unsigned i = 0; i < TAKES && ring_take(ring, &r); i++) {
		struct buf b = buf_of(text, sizeof(text));

		if (!record_valid(&r))
			continue;
		event_print(printer, &r, &b);
		/* What is valid fits, and nothing of it is a control. */
		for (size_t k = 0; k < b.n; k++)
			if (b.full || text[k] < 0x20 || text[k] > 0x7e)
				abort();
	}
	if (ring_read_settled(ring, &totals, &put))
		ring_may_sleep(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of(span_of(data, size));

	if (!ring)
		make();
	while (reader_left(&in) > 4) {
		size_t at = reader_u24(&in) % ring_size(), n = reader_u8(&in);

		n = n < reader_left(&in) ? n : reader_left(&in);
		n = n < ring_size() - at ? n : ring_size() - at;
		memcpy(memory + at, reader_take(&in, n).p, n);
		take_some();
	}
	return 0;
}
