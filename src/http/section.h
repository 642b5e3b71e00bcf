/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section: lines that each end in CRLF, the last one empty: a head, or what trails a body
 * (RFC 9112, 2.1).
 *
 * CR and LF are accepted as CRLF only, and no NUL, so that what reads a whole section may split at
 * LF. Strict on purpose: a lenient reader behind this one must not find other lines in the same
 * octets.
 */
#ifndef SG_HTTP_SECTION_H
#define SG_HTTP_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum {
	HTTP_HEAD_MAX = 65536, /* octets of a section */
	HTTP_FIELDS_MAX = 128, /* fields in it */
};

/* The place in a section that is read as it comes; zeroed before its first octet. */
struct http_section {
	uint32_t scanned; /* octets that were read */
	uint32_t line;	  /* where the last line begins */
	uint32_t lines;	  /* that are whole */
};

enum http_scan {
	HTTP_SCAN_MORE,
	HTTP_SCAN_LINE,	 /* `*line` is one, without CRLF */
	HTTP_SCAN_WHOLE, /* the empty line was met: `scanned` is the size of the section */
	HTTP_SCAN_BAD,	 /* `*why` says what */
	HTTP_SCAN_LARGE, /* HTTP_HEAD_MAX octets, and no end */
};

/* Scans on to the end of a line. `in` begins where the section does, on every call. */
enum http_scan http_section_scan(struct http_section *s, struct span in, struct span *line,
				 const char **why);

/* The next line of a whole section, without its CRLF. */
struct span http_section_line(struct span *section);

/*
 * "name: value", the value without white space at its ends. NULL, or why it is malformed. A line
 * that begins with a space is obs-fold and has no name (RFC 9112, 5.2).
 */
const char *http_field_split(struct span line, struct span *name, struct span *value);

/*
 * Is it this field (lower case)? Some servers take "_" for "-" in names: "Content_Length" must not
 * pass for an unknown field, so it is one here.
 */
bool http_field_is(struct span name, const char *known);

/* May it come after a body? Not what frames, routes or authenticates (RFC 9110, 6.5.1). */
bool http_field_may_trail(struct span name);

/*
 * A whole trailer section (RFC 9112, 7.1.2) of HTTP_FIELDS_MAX fields at most. NULL, or why it is
 * malformed: a field that frames, routes or authenticates must not come after the body.
 */
const char *http_trailers_check(struct span section);

#endif
