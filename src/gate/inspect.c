/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A flow to port 443 or 80 that was admitted by name is judged again by the name inside:
 * the client hello's server name, or the Host of each plain HTTP request. The octets are
 * looked at in the socket, not taken, until they are admitted; then `up.credit` lets them
 * pass, as they were seen (relay.c).
 *
 * TLS is looked at once. HTTP is looked at for the life of the connection: a head gets
 * credit when it is admitted, its body with it, and at the end of the credit the next head
 * is looked at. A refused first request is answered at once; a later one only when the
 * answers before it have passed: the client's way is ended (`refusing`), the far side
 * answers what it has and closes, and then the refusal is written. So answers keep their order.
 *
 * A request to switch to WebSocket holds the client's way until the server's status is seen
 * (`await_status`): only after 101 is the rest opaque.
 */
#include <stdio.h>

#include "gate/flow.h"
#include "gate/handover.h"

enum { LATER_REFUSAL_MS = 10000, REFUSAL_STATUS = 403, HTTPS_PORT = 443 };

/* In a record of TLS 1.2's number: fatal, and why (RFC 8446, 6; RFC 7301, 3.2). */
static struct span tls_alert(enum reason r)
{
	static const uint8_t access_denied[] = {21, 3, 3, 0, 2, 2, 49};
	static const uint8_t decode_error[] = {21, 3, 3, 0, 2, 2, 50};
	static const uint8_t no_application_protocol[] = {21, 3, 3, 0, 2, 2, 120};

	switch (r) {
	case REASON_MALFORMED_TLS:
		return span_of(decode_error, sizeof(decode_error));
	case REASON_NOT_HTTP:
		return span_of(no_application_protocol, sizeof(no_application_protocol));
	default:
		return span_of(access_denied, sizeof(access_denied));
	}
}

static void refuse_tls(struct flow *fl, enum reason r, const struct name *name,
		       const struct rule *rule)
{
	flow_refuse(fl,
		    (struct event){.proto = RECORD_TCP, .reason = r, .name = name, .rule = rule});
	if (r == REASON_NOT_TLS || fl->down.octets)
		flow_abort(fl);
	else
		flow_linger(fl, tls_alert(r));
}

void inspect_nothing(struct flow *fl)
{
	flow_note_admitted(fl);
	fl->up.credit = UINT64_MAX;
	loop_timer_cancel(fl->gate->loop, &fl->timer);
}

/* What the broker opens is HTTP: a client that will speak something else is told at once. */
static void hand_over_tls(struct flow *fl, const struct tls_hello *hello)
{
	bool http = !hello->alpn || hello->alpn & (ALPN_H2 | ALPN_HTTP11);
	uint8_t offers = (uint8_t)((hello->alpn & ALPN_H2 ? GATE_OFFERS_HTTP2 : 0) |
				   (hello->alpn & ALPN_HTTP11 ? GATE_OFFERS_HTTP1 : 0));
	enum reason why = http ? handover_make(fl, GATE_TLS | offers) : REASON_NOT_HTTP;

	if (why != REASON_NONE)
		refuse_tls(fl, why, flow_name(fl), fl->rule);
}

/* What was asked for by its name through the proxy port is that name inside as well, every time. */
static struct verdict judge_inside(const struct flow *fl, const struct name *name,
				   const char *method, const char *path)
{
	struct verdict v;

	if (!fl->by_proxy)
		return judge_server_name(fl->gate, &fl->dst, PROTO_TCP, name, method, path);
	v = judge_proxied_server_name(fl->gate, &fl->dst, name, method, path);
	if (v.allow && fl->by_name && !name_equal(name, &fl->name))
		return (struct verdict){.step = v.step, .reason = REASON_SNI_MISMATCH};
	return v;
}

static void judge_hello(struct flow *fl, const struct tls_hello *hello)
{
	const struct policy *p = ruleset_policy(fl->gate->rules);
	const struct carried c = carried_by(fl);
	struct verdict v;

	if (!hello->has_server_name) {
		refuse_tls(fl, REASON_NO_SERVER_NAME, flow_name(fl), fl->rule);
		return;
	}
	v = judge_inside(fl, &hello->server_name, NULL, NULL);
	if (v.allow && v.by_default && carried_is_dodged(&c, &hello->server_name))
		v = (struct verdict){.reason = REASON_SNI_MISMATCH};
	if (v.allow && hello->has_ech && p->ech_refuse)
		v = (struct verdict){.reason = REASON_ECH_REFUSED};
	if (!v.allow) {
		refuse_tls(fl, v.reason, &hello->server_name, v.rule);
		return;
	}
	fl->name = hello->server_name;
	fl->has_ech = hello->has_ech;
	fl->rule = v.rule;
	if (carried_is_due(&c, &hello->server_name))
		hand_over_tls(fl, hello);
	else
		inspect_nothing(fl);
}

static void inspect_tls(struct flow *fl, struct span seen)
{
	static uint8_t scratch[TLS_HELLO_MAX];

	switch (tls_hello_parse(seen, scratch, &fl->peek.hello)) {
	case HELLO_NEED_MORE:
		fl->in.readable = false;
		break;
	case HELLO_OK:
		judge_hello(fl, &fl->peek.hello);
		break;
	case HELLO_NOT_TLS:
		refuse_tls(fl, REASON_NOT_TLS, flow_name(fl), fl->rule);
		break;
	case HELLO_MALFORMED:
	case HELLO_TOO_LARGE:
		refuse_tls(fl, REASON_MALFORMED_TLS, flow_name(fl), fl->rule);
		break;
	}
}

/* A hello where anything may be carried. */
static void look_at_hello(struct flow *fl, const struct tls_hello *hello)
{
	const struct name *name = hello->has_server_name ? &hello->server_name : NULL;
	bool listed = ruleset_policy(fl->gate->rules)->inspect_all && fl->dst.port == HTTPS_PORT;
	const struct carried c = carried_by(fl);

	if (carried_is_due(&c, name)) {
		fl->name = *name;
		hand_over_tls(fl, hello);
	} else if (carried_is_dodged(&c, name) || (!name && listed)) {
		refuse_tls(fl, name ? REASON_SNI_MISMATCH : REASON_NO_SERVER_NAME,
			   name ? name : flow_name(fl), fl->rule);
	} else {
		inspect_nothing(fl);
	}
}

/* What does not begin as TLS is not TLS. What does and cannot be read could be for any host. */
static void look_for_tls(struct flow *fl, struct span seen)
{
	static uint8_t scratch[TLS_HELLO_MAX];
	const struct carried c = carried_by(fl);

	switch (tls_hello_parse(seen, scratch, &fl->peek.hello)) {
	case HELLO_NEED_MORE:
		fl->in.readable = false;
		if (!fl->timer.slot)
			flow_set_timer(fl, FLOW_INSPECT_MS);
		break;
	case HELLO_OK:
		look_at_hello(fl, &fl->peek.hello);
		break;
	case HELLO_NOT_TLS:
		if (carried_is_owed(&c))
			refuse_tls(fl, REASON_NOT_TLS, flow_name(fl), fl->rule);
		else
			inspect_nothing(fl);
		break;
	case HELLO_MALFORMED:
	case HELLO_TOO_LARGE:
		refuse_tls(fl, REASON_MALFORMED_TLS, flow_name(fl), fl->rule);
		break;
	}
}

/* The answer to a refused request: one line that says what to change. */
static struct span http_refusal(struct flow *fl, enum reason r, const struct name *name)
{
	static char text[2048];
	struct destination d = {.kind = DEST_SERVER_NAME,
				.name = name,
				.addr = &fl->dst.addr,
				.port = fl->dst.port,
				.proto = PROTO_TCP};
	char remedy[REMEDY_MAX], line[1024];
	int n;

	remedy_format(&fl->gate->remedy, &d, r, remedy);
	n = snprintf(line, sizeof(line), "sandgate: %s: %s%s%s\n", name ? name->s : "request",
		     reason_sentence(r), remedy[0] ? "; to allow it: " : "", remedy);
	if (n < 0 || (size_t)n >= sizeof(line))
		n = (int)strlen(line);
	n = snprintf(text, sizeof(text),
		     "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
		     "sandgate-reason: %s\r\nConnection: close\r\n\r\n%s",
		     n, reason_word(r), line);
	return span_of(text, n > 0 && (size_t)n < sizeof(text) ? (size_t)n : 0);
}

static bool nothing_has_passed(const struct flow *fl)
{
	return fl->up.octets == 0 && fl->up.credit == 0;
}

/* `refusal`: reason and name, and of a request that could be read its rule, method and path. */
static void refuse_http(struct flow *fl, struct event refusal)
{
	struct flow_http *h = &fl->peek.http;

	refusal.proto = RECORD_HTTP;
	refusal.status = REFUSAL_STATUS;
	flow_refuse(fl, refusal);
	fl->gate->counters->requests_inspected++;
	fl->gate->counters->requests_refused++;
	if (nothing_has_passed(fl)) {
		flow_linger(fl, http_refusal(fl, refusal.reason, refusal.name));
		return;
	}
	fl->refusing = true;
	fl->refused_for = refusal.reason;
	h->has_refused = refusal.name != NULL;
	if (refusal.name)
		h->refused = *refusal.name;
	flow_set_timer(fl, LATER_REFUSAL_MS);
}

void inspect_finish_refusal(struct flow *fl)
{
	const struct flow_http *h = &fl->peek.http;

	flow_linger(fl, http_refusal(fl, fl->refused_for, h->has_refused ? &h->refused : NULL));
}

/* A Host that is an address, or none at all, is only good where any name would be (`open`). */
static struct verdict judge_host_without_name(const struct flow *fl, const struct http_request *rq)
{
	const struct carried c = carried_by(fl);
	bool same = rq->host == HTTP_HOST_ABSENT || addr_equal(&rq->addr, &fl->dst.addr);

	if (fl->by_default && same && !fl->by_name && !carried_is_owed(&c))
		return (struct verdict){.allow = true, .by_default = true};
	return (struct verdict){.reason = REASON_NO_SERVER_NAME};
}

static struct verdict judge_request(struct flow *fl, const struct http_request *rq)
{
	const struct carried c = carried_by(fl);
	char path[4096];
	struct verdict v;

	/* The port of Host must be the one that was dialled: the server is told it too. */
	if (rq->port && rq->port != fl->dst.port)
		return (struct verdict){.reason = REASON_SNI_MISMATCH};
	if (rq->host != HTTP_HOST_NAME)
		return judge_host_without_name(fl, rq);
	if (rq->path.n >= sizeof(path))
		return (struct verdict){.reason = REASON_PATH_NOT_ALLOWED};
	memcpy(path, rq->path.p, rq->path.n);
	path[rq->path.n] = 0;
	v = judge_inside(fl, &rq->name, rq->method, path);
	/* It carries anything in either direction: who may only read has none. */
	if (v.allow && rq->websocket)
		v = judge_inside(fl, &rq->name, "POST", path);
	if (v.allow && v.by_default && carried_is_dodged(&c, &rq->name))
		v = (struct verdict){.reason = REASON_SNI_MISMATCH};
	return v;
}

/* As much of it as another policy judges again. */
static void keep_request(struct flow_http *h, const struct http_request *rq)
{
	const uint8_t *query = memchr(rq->path.p, '?', rq->path.n);
	size_t n = query ? (size_t)(query - rq->path.p) : rq->path.n;

	h->requests++;
	h->path_cut = n >= sizeof(h->path) || strlen(rq->method) >= sizeof(h->method);
	snprintf(h->method, sizeof(h->method), "%s", rq->method);
	snprintf(h->path, sizeof(h->path), "%.*s", (int)n, (const char *)rq->path.p);
}

static const struct name *name_of(const struct http_request *rq)
{
	return rq->host == HTTP_HOST_NAME ? &rq->name : NULL;
}

static void refuse_request(struct flow *fl, const struct http_request *rq, enum reason r,
			   const struct rule *rule)
{
	refuse_http(fl, (struct event){.reason = r,
				       .name = name_of(rq),
				       .rule = rule,
				       .method = rq->method,
				       .path = rq->path});
}

/* Only whole: one that carried another host's requests before stays what it is. */
static void hand_over_http(struct flow *fl, const struct http_request *rq)
{
	enum reason why = REASON_NOT_INSPECTED;

	if (nothing_has_passed(fl)) {
		fl->name = rq->name;
		why = handover_make(fl, 0);
	}
	if (why != REASON_NONE)
		refuse_request(fl, rq, why, fl->rule);
}

/* True when the request may pass. */
static bool admit_request(struct flow *fl, const struct http_request *rq)
{
	const struct carried c = carried_by(fl);
	const struct name *name = name_of(rq);
	struct verdict v = judge_request(fl, rq);

	if (!v.allow) {
		refuse_request(fl, rq, v.reason, v.rule);
		return false;
	}
	fl->rule = v.rule;
	if (carried_is_due(&c, name)) {
		hand_over_http(fl, rq);
		return false;
	}
	fl->gate->counters->requests_inspected++;
	if (name)
		fl->name = *name;
	keep_request(&fl->peek.http, rq);
	flow_note_request(fl, rq);
	if (rq->websocket) {
		fl->await_status = true;
		fl->down.credit = 0;
	}
	return true;
}

static void add_credit(struct flow *fl, uint64_t n)
{
	fl->up.credit = n > UINT64_MAX - fl->up.credit ? UINT64_MAX : fl->up.credit + n;
}

/* One event's worth of credit; returns how far `seen` was accounted for, or 0 to stop here. */
static size_t step_http(struct flow *fl, struct span seen)
{
	struct http_request rq;
	size_t pass = 0;
	uint64_t rest;

	switch (http_guard_feed(&fl->peek.http.guard, seen, &rq, &pass)) {
	case HTTP_REQUEST:
		if (!admit_request(fl, &rq))
			return 0;
		break;
	case HTTP_BODY:
	case HTTP_OPAQUE:
		break;
	case HTTP_MORE:
	case HTTP_HOLD:
		return 0;
	case HTTP_CONNECT:
		refuse_http(fl, (struct event){.reason = REASON_METHOD_NOT_ALLOWED,
					       .method = rq.method});
		return 0;
	case HTTP_NOT_HTTP:
		refuse_http(fl, (struct event){.reason = REASON_NOT_HTTP,
					       .name = flow_name(fl),
					       .rule = fl->rule});
		return 0;
	case HTTP_MALFORMED:
		refuse_http(fl, (struct event){.reason = REASON_MALFORMED_HTTP,
					       .name = flow_name(fl),
					       .rule = fl->rule});
		return 0;
	}
	add_credit(fl, pass);
	rest = http_guard_unread(&fl->peek.http.guard);
	http_guard_skip(&fl->peek.http.guard, rest);
	add_credit(fl, rest);
	return rest < seen.n - pass ? pass + (size_t)rest : seen.n;
}

static void inspect_http(struct flow *fl, struct span seen)
{
	size_t at = 0;

	while (at < seen.n && !fl->refusing && fl->state != FLOW_LINGERING) {
		size_t n = step_http(fl, span_of(seen.p + at, seen.n - at));

		if (n == 0)
			break;
		at += n;
	}
	if (fl->up.credit == 0 && !fl->refusing)
		fl->in.readable = false;
}

void inspect_client(struct flow *fl, struct span seen)
{
	/* A hello or head that the end of the stream cuts short will never be whole. */
	bool last = fl->in.hangup;
	uint64_t credit = fl->up.credit;

	switch (fl->inspection) {
	case INSPECT_TLS:
		inspect_tls(fl, seen);
		break;
	case INSPECT_HTTP:
		inspect_http(fl, seen);
		break;
	case INSPECT_LOOK:
		look_for_tls(fl, seen);
		break;
	case INSPECT_NOTHING:
		inspect_nothing(fl);
		break;
	}
	if (last && fl->up.credit == credit && !fl->refusing && !fl->await_status &&
	    (fl->state == FLOW_INSPECTING || fl->state == FLOW_RELAYING))
		flow_abort(fl);
}

/* While a switch is open inspect_server() reads the same octets. */
void inspect_answer(struct flow *fl, struct span passing)
{
	struct flow_http *h = &fl->peek.http;
	unsigned status = 0;

	if (h->answer_read || fl->await_status)
		return;
	h->answer_read = http_status_feed(&fl->status, passing, &status) != HTTP_STATUS_MORE;
	h->status = (uint16_t)status;
}

void inspect_server(struct flow *fl, struct span seen)
{
	unsigned status = 0;

	switch (http_status_feed(&fl->status, seen, &status)) {
	case HTTP_STATUS_MORE:
		fl->down.credit = seen.n;
		return;
	case HTTP_STATUS_NOT_HTTP:
		flow_abort(fl);
		return;
	case HTTP_STATUS_KNOWN:
		break;
	}
	http_guard_answered(&fl->peek.http.guard, status);
	fl->peek.http.status = (uint16_t)status;
	fl->peek.http.answer_read = true;
	fl->await_status = false;
	fl->down.credit = UINT64_MAX;
	fl->in.readable = true;
	flow_queue(fl);
}

void inspect_time_out(struct flow *fl)
{
	if (fl->inspection != INSPECT_HTTP)
		refuse_tls(fl, REASON_NO_SERVER_NAME, flow_name(fl), fl->rule);
	else
		refuse_http(fl, (struct event){.reason = REASON_NO_SERVER_NAME,
					       .name = flow_name(fl),
					       .rule = fl->rule});
}
