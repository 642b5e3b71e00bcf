/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_page: the first page of the file behind a ring (ring.c): positions, totals, and by which
 * layout the rest is to be read.
 *
 * A sandbox that is kept has its files for years. Reasons are counted by their numbers, so those
 * only ever get more (policy/decide.h), and the totals of an earlier layout go on in this one.
 */
#ifndef SG_AUDIT_RING_PAGE_H
#define SG_AUDIT_RING_PAGE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "audit/record.h"

enum { RING_SLOTS = 2048, RING_PAGE = 4096, RING_CACHE_LINE = 64 };

struct ring_totals {
	_Atomic uint64_t refused[REASONS];
	_Atomic uint64_t allowed, ended, missed;
	_Atomic uint64_t missed_refused[REASONS];
	_Atomic uint64_t with_credential;
};

struct ring_page {
	char magic[8];
	uint32_t version, record_size, slots, reasons;
	_Alignas(RING_CACHE_LINE) _Atomic uint64_t tail;
	_Atomic uint32_t asleep; /* the reader waits for a wake-up */
	_Alignas(RING_CACHE_LINE) _Atomic uint64_t head;
	_Atomic uint64_t turn; /* odd: in the middle of a put */
	struct ring_totals totals;
};
_Static_assert(sizeof(struct ring_page) <= RING_PAGE, "it is one page");

/*
 * Makes a file one of `size` octets and of this layout: an empty one is begun, the totals of an
 * earlier version go on, and its records that were not taken are no more than counted. Whoever is
 * killed in it leaves a file that the next call sets right. 0 or -errno: EBADMSG when it is none of
 * ours, or of a later version.
 */
int ring_page_prepare(int fd, off_t size) sg_must_check;

bool ring_page_is_ours(const struct ring_page *p);

#endif
