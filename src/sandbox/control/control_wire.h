/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_wire: one message of the control socket, both ways: its length in octets as four octets,
 * most significant first, then one JSON object.
 */
#ifndef SG_SANDBOX_CONTROL_WIRE_H
#define SG_SANDBOX_CONTROL_WIRE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CONTROL_HEAD = 4,
	CONTROL_REQUEST_MAX = 64 * 1024,
	CONTROL_ANSWER_MAX = 256 * 1024 * 1024, /* a policy of millions of names */
	CONTROL_DEADLINE_MS = 5000, /* from the connection to the last octet of the answer */
};

static inline uint32_t control_read_head(const uint8_t b[CONTROL_HEAD])
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline void control_write_head(uint8_t b[CONTROL_HEAD], uint32_t n)
{
	b[0] = (uint8_t)(n >> 24);
	b[1] = (uint8_t)(n >> 16);
	b[2] = (uint8_t)(n >> 8);
	b[3] = (uint8_t)n;
}

/* Head and text in one allocation of *n octets; NULL without memory or when it is over max. */
uint8_t *control_encode(const json_t *message, size_t max, size_t *n);

/* NULL when it is not one JSON object. */
json_t *control_decode(const uint8_t *p, size_t n);

#endif
