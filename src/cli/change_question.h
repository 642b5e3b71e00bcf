/* SPDX-License-Identifier: Apache-2.0 */
/* change_question: what a person is asked before the policy of a sandbox is widened. */
#ifndef SG_CLI_CHANGE_QUESTION_H
#define SG_CLI_CHANGE_QUESTION_H

#include <stdbool.h>

#include "base/err.h"
#include "sandbox/control/change_request.h"

/*
 * 0, or the exit status with the message: there is none, it was declined, or nobody can be asked.
 */
int change_question_ask(const char *name, const struct change_request *r, bool yes,
			struct err *e) sg_must_check;

#endif
