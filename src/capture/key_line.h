/* SPDX-License-Identifier: Apache-2.0 */
/* key_line: a line of a TLS key log (draft-ietf-tls-keylogfile): LABEL RANDOM SECRET. Pure. */
#ifndef SG_CAPTURE_KEY_LINE_H
#define SG_CAPTURE_KEY_LINE_H

#include <stdbool.h>

#include "base/span.h"

enum { KEY_LINE_MAX = 256 };

/* Without its newline: a label of capitals, digits and underscores, 64 and 2..128 hexadecimals. */
bool key_line_valid(struct span line);

#endif
