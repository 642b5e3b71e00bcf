/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name: a DNS name in the one canonical form that is judged, looked up and dialled.
 *
 * Lower case, one trailing dot removed, A-labels (IDNA2008 / UTS 46), labels of
 * 1..63 octets of [a-z0-9_-], name of 1..253 octets, last label not numeric
 * (docs/policy.md, "Rules"). A `struct name` that exists is valid: only name_parse makes one.
 */
#ifndef SG_BASE_NAME_H
#define SG_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NAME_MAX_OCTETS = 253 };

struct name {
	uint8_t n;		     /* octets, without the NUL */
	char s[NAME_MAX_OCTETS + 1]; /* NUL-terminated */
};

enum name_error {
	NAME_OK,
	NAME_EMPTY,
	NAME_EMPTY_LABEL,
	NAME_TOO_LONG,
	NAME_LABEL_TOO_LONG,
	NAME_BAD_CHARACTER,
	NAME_BAD_HYPHEN, /* a label begins or ends with one */
	NAME_NUMERIC,	 /* the last label is a number: an address in disguise */
	NAME_BAD_IDNA,
};

/*
 * From what a person wrote: U-labels are converted (libidn2), full-width forms refused.
 * `at` (may be NULL) gets the octet the error is at.
 */
enum name_error name_parse(const char *s, size_t n, struct name *out, size_t *at);

/* From the wire or a server name: ASCII only, nothing is converted but case and one final dot. */
enum name_error name_parse_ascii(const char *s, size_t n, struct name *out);

/* A sentence piece such as "a label is longer than 63 octets". */
const char *name_error_text(enum name_error e);

/* Is it one that name_parse() makes? For what was read from memory that others write. */
bool name_is_canonical(const struct name *name);

static inline bool name_equal(const struct name *a, const struct name *b)
{
	return a->n == b->n && memcmp(a->s, b->s, a->n) == 0;
}

/* True when `name` lies below `parent` at a dot, at any depth; false for the name itself. */
bool name_is_below(const struct name *name, const struct name *parent);

/* 64-bit keyed hash; the key is chosen once a process (a sandbox picks the names it asks for). */
uint64_t name_hash(const char *s, size_t n);

#endif
