/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure_answer: the answer to a request that was admitted and that no server can be asked: one
 * line says why.
 */
#ifndef SG_BROKER_FAILURE_ANSWER_H
#define SG_BROKER_FAILURE_ANSWER_H

#include "broker/exchange.h"

/*
 * 504 for a time-out, else 502. `answer` was made with message_init(), `body` is empty. False: no
 * memory.
 */
bool failure_answer(const struct name *server, const struct upstream_failure *failure,
		    struct message *answer, struct body *body);

#endif
