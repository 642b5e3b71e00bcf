/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_log: one record a request, into the ring that the sealer reads (audit/record.h), when it
 * is over.
 *
 * Never a secret: no field, no body, no query; the path is that of the sandbox's own request.
 */
#ifndef SG_BROKER_REQUEST_LOG_H
#define SG_BROKER_REQUEST_LOG_H

#include "audit/record.h"
#include "broker/connection.h"
#include "broker/judge_request.h"

struct request_log {
	struct ring *ring; /* NULL: nothing is kept */
	int wake;	   /* eventfd of its reader, or -1 */
	uint64_t generation;
};

/* Who asked for what: everything but the verdict and what came of it. */
void request_log_begin(const struct request_log *l, struct record *r, const struct handover *peer,
		       const struct message *request);
/* Copies what the verdict refers to: its ruleset may be gone when the request ends. */
void request_log_judge(const struct request_log *l, struct record *r,
		       const struct request_verdict *v);
void request_log_put(const struct request_log *l, const struct record *r);

#endif
