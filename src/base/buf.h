/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf: a writer over memory that the caller owns, of fixed size.
 *
 * What does not fit is not written and sets `full`; a builder may write on and
 * check once at the end. Nothing here allocates.
 */
#ifndef SG_BASE_BUF_H
#define SG_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"

struct buf {
	uint8_t *p;
	size_t n;   /* written */
	size_t cap; /* octets at p */
	bool full;  /* something did not fit */
};

static inline struct buf buf_of(void *p, size_t cap)
{
	return (struct buf){.p = p, .cap = cap};
}

static inline struct span buf_span(const struct buf *b)
{
	return span_of(b->p, b->n);
}

static inline void buf_put(struct buf *b, const void *p, size_t n)
{
	if (b->full || n > b->cap - b->n) {
		b->full = true;
		return;
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void buf_put_span(struct buf *b, struct span s)
{
	buf_put(b, s.p, s.n);
}

/* Without its NUL. */
static inline void buf_put_text(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

static inline void buf_put_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

static inline void buf_put_u16(struct buf *b, uint16_t v)
{
	uint8_t w[2] = {(uint8_t)(v >> 8), (uint8_t)v};

	buf_put(b, w, sizeof(w));
}

static inline void buf_put_u32(struct buf *b, uint32_t v)
{
	uint8_t w[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

	buf_put(b, w, sizeof(w));
}

/* Overwrites two octets written before at `at`; out of range is a full buffer. */
static inline void buf_patch_u16(struct buf *b, size_t at, uint16_t v)
{
	if (b->n < 2 || at > b->n - 2) {
		b->full = true;
		return;
	}
	b->p[at] = (uint8_t)(v >> 8);
	b->p[at + 1] = (uint8_t)v;
}

#endif
