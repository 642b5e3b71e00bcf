/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path: does the path of a request match a pattern, however a server may read it?
 *
 * Servers differ in what they do with `%2f`, `..`, `;`, `//`, `\` and with a
 * path that is encoded twice. A rule that allows must hold for every reading;
 * a rule that denies holds when any reading matches.
 */
#ifndef SG_POLICY_PATH_H
#define SG_POLICY_PATH_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PATH_MAX_OCTETS = 4096, /* a longer one has no reading that can be trusted */
	PATH_PATTERN_MAX_OCTETS = 512,
	PATH_PATTERN_MAX_STARS = 8,
};

/*
 * `target` is the origin-form of a request (RFC 9112, 3.2.1), query included. `*` in a pattern
 * matches any run of octets, `/` included. A pattern with `?` matches the query as well, which is
 * taken as it is sent; one without matches whatever the query.
 */
bool path_matches_every_reading(char *const *patterns, const char *target);
bool path_matches_some_reading(char *const *patterns, const char *target);

#endif
