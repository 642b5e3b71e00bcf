/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes: the shapes in which a text may hold some octets, and where one stands.
 *
 *	as they are; percent-encoded (RFC 3986, 2.1), any part of them, `+` for a space
 *	escaped as in JSON (RFC 8259, 7), any part of them
 *	base64 of either alphabet (RFC 4648, 4 and 5), whatever stands before and behind the octets in it:
 *	  so also Basic (RFC 7617), and that again percent-encoded or escaped
 *
 * What is made here is as secret as the octets are: the caller gives the memory for it.
 */
#ifndef SG_BROKER_SHAPES_H
#define SG_BROKER_SHAPES_H

#include <stdbool.h>

#include "base/buf.h"

enum {
	SHAPES_BASE64 = 6,    /* three alignments, two alphabets */
	SHAPE_ESCAPE_MAX = 6, /* characters for one octet: \u0041 */
};

/* Octets of memory that shapes_make() takes for n octets. */
#define SHAPES_MEMORY(n) (SHAPES_BASE64 * (((n) + 2) / 3 * 4 + 4))

struct shapes {
	bool begins[256]; /* a shape may begin with this octet */
	size_t n;
	struct span text[1 + SHAPES_BASE64]; /* the octets, and what base64 surely has of them */
};

/* `octets` and `memory` are borrowed for as long as the shapes are used. False: no room in it. */
bool shapes_make(struct span octets, struct buf *memory, struct shapes *out);

struct shape_found {
	size_t at, n;
	bool cut; /* the text ends before the shape does */
};

/*
 * The first shape in the text from `from` on, or the place near its end from where one may go on behind it
 * (`cut`), whichever comes first. False: neither.
 */
bool shapes_find(const struct shapes *f, struct span text, size_t from, struct shape_found *out);

#endif
