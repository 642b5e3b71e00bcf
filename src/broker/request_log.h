/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_log: one record a request, into the ring that the sealer reads (audit/record.h), when it
 * is over.
 *
 * Never a secret: no field, no body, no query; of the path what is a secret of the vault, or a
 * placeholder, is masked.
 */
#ifndef SG_BROKER_REQUEST_LOG_H
#define SG_BROKER_REQUEST_LOG_H

#include "audit/record.h"
#include "broker/connection.h"
#include "broker/credential.h"
#include "broker/judge_request.h"

struct request_log {
	struct ring *ring;	   /* NULL: nothing is kept */
	int wake;		   /* eventfd of its reader, or -1 */
	struct refusals *refusals; /* audit/refusals.h; NULL: none are counted */
	uint64_t generation;
	bool closed; /* what is put cannot be written: requests wait, or are refused */
};

/* Who asked for what: everything but the verdict and what came of it. `vault` may be NULL. */
void request_log_begin(const struct request_log *l, struct record *r, const struct handover *peer,
		       const struct message *request, const struct vault *vault);
/* Copies what the verdict refers to: its ruleset may be gone when the request ends. */
void request_log_judge(const struct request_log *l, struct record *r,
		       const struct request_verdict *v);
/* It is sent with a credential of the vault, by what credential_describe() calls it. */
void request_log_use(struct record *r, const char *credential);
/* It is over: its time is that. */
void request_log_put(const struct request_log *l, struct record *r);

#endif
