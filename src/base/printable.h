/* SPDX-License-Identifier: Apache-2.0 */
/* printable: what of a text a terminal would take for a command. */
#ifndef SG_BASE_PRINTABLE_H
#define SG_BASE_PRINTABLE_H

#include <stddef.h>

/*
 * How many octets at s, which ends with a NUL, are one control: C0 and DEL, or C1 as UTF-8 writes
 * it (U+0080..U+009F). 0: none.
 */
static inline size_t printable_control(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	if (u[0] < 0x20 || u[0] == 0x7f)
		return 1;
	return u[0] == 0xc2 && u[1] >= 0x80 && u[1] <= 0x9f ? 2 : 0;
}

#endif
