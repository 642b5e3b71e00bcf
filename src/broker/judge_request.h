/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_request: may this request go to this host? The policy's decide() for host, method and path,
 * then the operations of the permissions that are on (catalogue/operations.yaml), body checks
 * included.
 */
#ifndef SG_BROKER_JUDGE_REQUEST_H
#define SG_BROKER_JUDGE_REQUEST_H

#include "broker/body.h"
#include "policy/decide.h"
#include "policy/permission.h"

enum judged_request {
	REQUEST_ADMITTED,
	REQUEST_REFUSED,
	REQUEST_NEEDS_BODY, /* a part of the body decides; nothing is sent before */
};

enum { REQUEST_BODY_MAX = 64 * 1024 };

struct request_verdict {
	enum judged_request what;
	enum reason reason;
	/* That admits it, or that would, and then stands in the remedy; NULL: none. */
	const char *permission;
	/* Of that permission what the request is, "clone and fetch"; NULL: none. */
	const char *operation;
	/* Of a refusal, a static sentence piece beside the reason's; NULL: none. */
	const char *why;
	char remedy[REMEDY_MAX];
	struct verdict verdict; /* of decide() */
};

/* All of it is borrowed. */
struct request_judge {
	const struct ruleset *rules;
	const struct catalogue *catalogue;
	const struct host_prefixes *host;
	const struct addr *addr; /* that the connection goes to; NULL: only names are judged */
	bool by_proxy;		 /* the connection came through the proxy port */
	struct remedy_for remedy_for;
};

/*
 * `body` is empty and `body_whole` false before anything of it was read. With REQUEST_NEEDS_BODY
 * it is asked again with more of the body, until it says anything else; it does at the latest with
 * the whole body, or with REQUEST_BODY_MAX octets of it.
 */
void judge_request(const struct request_judge *j, const struct message *request, struct span body,
		   bool body_whole, struct request_verdict *out);

/*
 * The answer to a refused request, in the form that its client shows a person (git, JSON, gRPC,
 * text). `answer` was made with message_init(), `body` is empty; both are the caller's to free.
 * False: no memory.
 */
bool refusal_answer(const struct message *request, const struct request_verdict *v,
		    struct message *answer, struct body *body);

#endif
