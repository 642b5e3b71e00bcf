/* SPDX-License-Identifier: Apache-2.0 */
/* refusal_text: a refused request in one line for a person. */
#ifndef SG_BROKER_REFUSAL_TEXT_H
#define SG_BROKER_REFUSAL_TEXT_H

#include "broker/judge_request.h"

enum { REFUSAL_TEXT_MAX = 2048 };

/*
 * "sandgate: POST github.com/o/r.git/git-receive-pack: the permissions allow ...": what, why, and
 * the command that allows it. Printable ASCII without a line end. Returns out.
 */
char *refusal_text(const struct message *request, const struct request_verdict *v,
		   char out[REFUSAL_TEXT_MAX]);

#endif
