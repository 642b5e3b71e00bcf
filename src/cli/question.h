/* SPDX-License-Identifier: Apache-2.0 */
/* question: asking the person before something is widened. */
#ifndef SG_CLI_QUESTION_H
#define SG_CLI_QUESTION_H

#include <stdbool.h>

#include "base/err.h"

/* Is there a person to ask: a terminal to read from and to write to? */
bool question_can_ask(void);

/* Says on standard error what `path` asks for; `lines` is spoiled. */
void question_show(const char *path, char *lines);

/*
 * Says `text` and asks "Continue? [y/N]"; only "y" and "yes" are a yes. 0, or -1 with the message:
 * it was declined, or there is no terminal and `yes` (the option --yes) was not given.
 */
int question_ask(const char *text, bool yes, struct err *e) sg_must_check;

#endif
