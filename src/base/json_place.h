/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_place: where a value stands in a text of JSON (RFC 8259), so that a part of it can be replaced
 * and every other octet stays as it was: numbers that no parser here holds, order, and all.
 */
#ifndef SG_BASE_JSON_PLACE_H
#define SG_BASE_JSON_PLACE_H

#include "base/span.h"

/*
 * The value behind these keys, NULL-terminated, one object within the other. `text` is valid JSON, as a
 * parser has found, with each key once in an object; of other text what is returned is some part of it,
 * or none. p is NULL when there is none, or a key is written with escapes.
 */
struct span json_place_find(struct span text, const char *const *keys);

#endif
