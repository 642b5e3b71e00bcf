/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_body: the JSON of a request's body, in the one reading that all servers have of it.
 *
 * What two readers could take for different things is no such body: a key that stands twice,
 * however it is escaped; a key that some readers take for another one (Go's folds case); anything
 * deep.
 */
#ifndef SG_BROKER_JSON_BODY_H
#define SG_BROKER_JSON_BODY_H

#include <jansson.h>

#include "base/span.h"

enum { JSON_BODY_DEPTH_MAX = 64 };

/* The caller's to free with json_decref(). NULL: it is not that, or no memory. */
json_t *json_body_parse(struct span body);

/* An object with no key but those of the list, which ends with NULL? */
bool json_body_has_only(const json_t *object, const char *const *keys);

/* The text of a string; empty when it is none. */
struct span json_body_text(const json_t *string);

#endif
