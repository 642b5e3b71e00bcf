/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_request: may this request go to this host? The policy's decide() for host, method and path, then the operations of
 * the permissions that are on (catalogue/operations.yaml), body checks included.
 */
#ifndef SG_BROKER_JUDGE_REQUEST_H
#define SG_BROKER_JUDGE_REQUEST_H

#include "broker/message.h"
#include "policy/decide.h"
#include "policy/permission.h"

enum judged_request {
	REQUEST_ADMITTED,
	REQUEST_REFUSED,
	REQUEST_NEEDS_BODY, /* up to REQUEST_BODY_MAX octets of the body decide; nothing is sent before */
};

enum { REQUEST_BODY_MAX = 64 * 1024 };

struct request_verdict {
	enum judged_request what;
	enum reason reason;
	const char *
		permission; /* that admits it, or that would (then it is in the remedy); NULL: none */
	const char *operation; /* "clone and fetch" */
	char remedy[REMEDY_MAX];
	struct verdict verdict; /* of decide() */
};

struct request_judge {
	const struct ruleset *rules;
	const struct catalogue *catalogue;
	const struct host_prefixes *host;
	struct remedy_for remedy_for;
};

/* `body` is empty and `body_whole` false before anything of it was read. */
void judge_request(const struct request_judge *j, const struct message *request, struct span body,
		   bool body_whole, struct request_verdict *out);

/* Do requests to this host have to be seen: operations, methods, paths, credentials, `inspect:`? */
bool judge_inspects(const struct request_judge *j, const struct name *host, uint16_t port);

/* The answer to a refused request, in the form that its client shows a person (git, JSON, gRPC, text). */
bool refusal_answer(const struct message *request, const struct request_verdict *v,
		    struct message *answer, struct body *body);

#endif
