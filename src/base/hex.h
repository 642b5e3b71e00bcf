/* SPDX-License-Identifier: Apache-2.0 */
/* hex: hexadecimal digits of either case. */
#ifndef SG_BASE_HEX_H
#define SG_BASE_HEX_H

#include <stdint.h>

/* -1: it is none. */
static inline int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

#endif
