/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/failure_answer.h"

#include <stdio.h>

enum { STATUS_BAD_GATEWAY = 502, STATUS_GATEWAY_TIMEOUT = 504 };

bool failure_answer(const struct name *server, const struct upstream_failure *failure,
		    struct message *answer, struct body *body)
{
	char line[NAME_MAX_OCTETS + sizeof(failure->why) + 32];
	int n = snprintf(line, sizeof(line), "sandgate: %s: %s\n",
			 server->n ? server->s : "the server", failure->why);

	answer->status = failure->reason == REASON_UPSTREAM_TIMEOUT ? STATUS_GATEWAY_TIMEOUT
								    : STATUS_BAD_GATEWAY;
	answer->body = MESSAGE_BODY_LENGTH;
	answer->length = (uint64_t)n;
	body->ended = true;
	return message_add(answer, span_of_string("content-type"),
			   span_of_string("text/plain; charset=utf-8")) &&
	       message_add(answer, span_of_string("cache-control"), span_of_string("no-store")) &&
	       message_add(answer, span_of_string("sandgate-reason"),
			   span_of_string(reason_word(failure->reason))) &&
	       body_put(body, span_of(line, (size_t)n));
}
