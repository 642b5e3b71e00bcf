/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canonical: the one text of a JSON value that is hashed.
 *
 * RFC 8785 (keys sorted, no spaces), narrowed twice. Numbers are integers of 64 bits, so that no
 * two programs can disagree about one. Everything that is not printable ASCII is escaped, \uXXXX
 * with capital digits: a line of a log is one line, and harmless, whatever it is shown with.
 */
#ifndef SG_AUDIT_CANONICAL_H
#define SG_AUDIT_CANONICAL_H

#include <jansson.h>

#include "base/err.h"
#include "base/span.h"

/*
 * NULL when it holds a real number, a NUL in a string, or when there is no memory; freed by the
 * caller.
 */
char *canonical_print(const json_t *value, size_t *n);

/* An object; NULL with the message when the text is not what canonical_print() makes of it. */
json_t *canonical_parse(struct span text, struct err *e);

#endif
