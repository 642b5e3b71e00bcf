/* SPDX-License-Identifier: Apache-2.0 */
/* ending: the end of a sandbox that runs, asked for and waited for. */
#ifndef SG_CLI_ENDING_H
#define SG_CLI_ENDING_H

#include <stdint.h>

#include "base/err.h"

enum { ENDING_SECONDS = 10, ENDING_SECONDS_MAX = 3600 };

/*
 * Asks the supervisor of `name`, whose runtime folder is `dir`, and waits for its end, whoever has the
 * name then: SIGTERM to all inside, SIGKILL after `seconds`. Shows what a supervisor in the background
 * has to say of it. 0, or -1 with the message.
 */
int ending_make(const char *name, int dir, unsigned seconds, struct err *e) sg_must_check;

#endif
