/* SPDX-License-Identifier: Apache-2.0 */
/* quote: what a person or a file wrote, made fit to stand in a message. */
#ifndef SG_POLICY_QUOTE_H
#define SG_POLICY_QUOTE_H

#include "base/span.h"

enum { QUOTE_MAX = 128 };

/*
 * The text between backquotes; control characters, NUL and what is not UTF-8 as \xNN; cut with
 * "..." when it is long. Returns out.
 */
char *quote_span(struct span text, char out[QUOTE_MAX]);
char *quote_string(const char *text, char out[QUOTE_MAX]);

#endif
