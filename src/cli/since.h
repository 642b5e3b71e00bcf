/* SPDX-License-Identifier: Apache-2.0 */
/* since: a moment in the past, as a person writes it. */
#ifndef SG_CLI_SINCE_H
#define SG_CLI_SINCE_H

#include <stdint.h>

#include "base/err.h"

/*
 * "90s", "10m", "2h", "1d" before `now_ms`, or a time of RFC 3339: "2026-11-29T18:00:00Z", with
 * fractions of a second and with an offset ("+01:00") as well. Milliseconds since 1970. 0 or -1
 * with the message.
 */
int since_parse(const char *text, int64_t now_ms, int64_t *out_ms, struct err *e) sg_must_check;

#endif
