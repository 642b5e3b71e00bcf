/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span: a borrowed run of bytes and a reader over it.
 *
 * A span owns nothing. A reader never passes the end: a read past it returns
 * zero, sets `bad`, and leaves the position at the end, so that a parser may
 * read a whole fixed header and check once.
 */
#ifndef SG_BASE_SPAN_H
#define SG_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const uint8_t *p;
	size_t n; /* octets */
};

struct reader {
	const uint8_t *p;
	size_t n;
	size_t at;
	bool bad; /* something was read that was not there */
};

static inline struct span span_of(const void *p, size_t n)
{
	return (struct span){.p = p, .n = n};
}

static inline struct span span_of_string(const char *s)
{
	return span_of(s, strlen(s));
}

static inline bool span_equal(struct span a, struct span b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline struct reader reader_of(struct span s)
{
	return (struct reader){.p = s.p, .n = s.n};
}

static inline size_t reader_left(const struct reader *r)
{
	return r->n - r->at;
}

/* The next n octets as a span, or an empty one with `bad` set. */
static inline struct span reader_take(struct reader *r, size_t n)
{
	struct span s;

	if (n > r->n - r->at) {
		r->bad = true;
		r->at = r->n;
		return span_of(r->p, 0);
	}
	s = span_of(r->p + r->at, n);
	r->at += n;
	return s;
}

static inline uint8_t reader_u8(struct reader *r)
{
	struct span s = reader_take(r, 1);

	return s.n ? s.p[0] : 0;
}

/* Network byte order, as every field the gate reads. */
static inline uint16_t reader_u16(struct reader *r)
{
	struct span s = reader_take(r, 2);

	return s.n ? (uint16_t)(s.p[0] << 8 | s.p[1]) : 0;
}

static inline uint32_t reader_u24(struct reader *r)
{
	struct span s = reader_take(r, 3);

	return s.n ? (uint32_t)s.p[0] << 16 | (uint32_t)s.p[1] << 8 | s.p[2] : 0;
}

static inline uint32_t reader_u32(struct reader *r)
{
	struct span s = reader_take(r, 4);

	return s.n ? (uint32_t)s.p[0] << 24 | (uint32_t)s.p[1] << 16 | (uint32_t)s.p[2] << 8 |
			       s.p[3]
		   : 0;
}

/* A reader over the next n octets, which this one then has passed. */
static inline struct reader reader_sub(struct reader *r, size_t n)
{
	return reader_of(reader_take(r, n));
}

#endif
