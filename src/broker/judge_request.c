/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. decide() judges host, port, method and path by the rules of all layers. What
 * a rule of the person's or of the organisation's admits, or the base, is admitted with that. What
 * only the hosts of permissions admit has to be an operation of one of them as well. A request in
 * which something names another method or path than its own is refused wherever methods, paths or
 * operations count.
 */
#include "broker/judge_request.h"

#include "base/compiler.h"
#include "broker/method_override.h"
#include "broker/operations.h"
#include "http/head.h"
#include "policy/inspects.h"
#include "policy/operation_host.h"

static void refuse(struct request_verdict *out, enum reason reason, const char *why)
{
	out->what = REQUEST_REFUSED;
	out->reason = reason;
	out->why = why;
}

static const char *says_of(const struct admission *x)
{
	return x->operation ? x->operation->says : NULL;
}

/* The permission that is not on and is for just that request. False: there is none. */
static bool offer_permission(const struct asked *a, struct request_verdict *out)
{
	struct admission other = operations_covering(a);

	if (!other.permission)
		return false;
	out->permission = other.permission->id;
	out->operation = says_of(&other);
	remedy_format_permission(&a->judge->remedy_for, out->permission, out->remedy);
	return true;
}

static void refuse_by_rules(const struct asked *a, struct request_verdict *out)
{
	refuse(out, out->verdict.reason, NULL);
	if (out->reason != REASON_NOT_IN_POLICY || !offer_permission(a, out))
		remedy_format(&a->judge->remedy_for, a->destination, out->reason, out->remedy);
}

static void judge_operation(const struct asked *a, struct request_verdict *out)
{
	struct admission x = operations_admit(a);

	if (x.what == ADMITS_NOT) {
		refuse(out, REASON_OPERATION_NOT_ALLOWED, x.why);
		offer_permission(a, out);
		return;
	}
	out->what = x.what == ADMITS ? REQUEST_ADMITTED : REQUEST_NEEDS_BODY;
	out->permission = x.permission->id;
	out->operation = says_of(&x);
}

/* It carries anything in either direction: who may only read has none. */
static bool is_websocket_refused(const struct asked *a, struct verdict *v)
{
	struct destination d = *a->destination;
	struct verdict post;

	if (!a->request->protocol.n)
		return false;
	d.method = "POST";
	decide(a->judge->rules, a->judge->host, &d, &post);
	if (!post.allow)
		*v = post;
	return !post.allow;
}

static void judge(const struct asked *a, struct request_verdict *out)
{
	const struct request_judge *j = a->judge;
	const struct destination *d = a->destination;
	const char *override = method_override_find(a->request, d->path);
	bool narrow;

	decide(j->rules, j->host, d, &out->verdict);
	if (!out->verdict.allow) {
		refuse_by_rules(a, out);
		return;
	}
	if (is_websocket_refused(a, &out->verdict)) {
		refuse(out, out->verdict.reason, "a WebSocket needs GET and POST");
		return;
	}
	narrow = verdict_is_by_permission(&out->verdict) &&
		 permissions_narrow(j->rules, j->catalogue, d);
	if (override && (narrow || rules_restrict(j->rules, d))) {
		refuse(out, REASON_METHOD_NOT_ALLOWED, override);
	} else if (narrow) {
		judge_operation(a, out);
	} else {
		out->what = REQUEST_ADMITTED;
		out->permission = out->verdict.permission;
	}
}

/* A WebSocket over HTTP/2 (RFC 8441) asks for what a GET asks for over HTTP/1.1. */
static struct span method_of(const struct message *request)
{
	return request->protocol.n ? span_of_string("GET") : request->method;
}

static bool has_nul(struct span s)
{
	return s.n && memchr(s.p, 0, s.n);
}

void judge_request(const struct request_judge *j, const struct message *request, struct span body,
		   bool body_whole, struct request_verdict *out)
{
	struct span method = method_of(request);
	_cleanup_free_ char *path = strndup((const char *)request->path.p, request->path.n);
	char method_text[HTTP_METHOD_MAX + 1] = "";
	struct destination d = {.kind = DEST_SERVER_NAME,
				.name = request->has_host ? &request->host : NULL,
				.addr = request->has_host ? j->addr : &request->address,
				.port = request->port,
				.proto = PROTO_TCP,
				.method = method_text,
				.path = path,
				.by_proxy = j->by_proxy};
	struct asked a = {.judge = j,
			  .request = request,
			  .destination = &d,
			  .body = body,
			  .body_whole = body_whole};

	*out = (struct request_verdict){0};
	if (method.n > HTTP_METHOD_MAX || has_nul(method)) {
		refuse(out, REASON_METHOD_NOT_ALLOWED, NULL);
		return;
	}
	if (!path || has_nul(request->path)) {
		refuse(out, REASON_PATH_NOT_ALLOWED, NULL);
		return;
	}
	memcpy(method_text, method.p, method.n);
	judge(&a, out);
}
