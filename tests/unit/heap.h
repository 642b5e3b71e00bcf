/* SPDX-License-Identifier: Apache-2.0 */
/* heap: how much of it is in use, for tests of what must stay constant. */
#ifndef SG_TESTS_HEAP_H
#define SG_TESTS_HEAP_H

#include <malloc.h>
#include <stddef.h>

#ifdef __has_feature /* clang's way */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

/* Of the sanitizer's run-time library; not every compiler brings its header. */
size_t __sanitizer_get_current_allocated_bytes(void);

/* Octets. */
static inline size_t heap_in_use(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
#endif
}

#endif
