/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first octet says in which steps the rest arrives, and what the server answers to a request
 * for WebSocket. However it arrives, the same requests are told and the same octets pass.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gate/http_guard.h"

enum { SWITCHES = 0x80, PASSES_UNREAD = 0x40, STEP_MASK = 0x3f };

struct outcome {
	enum http_event last;
	size_t passed;
	uint64_t requests; /* a checksum over what was told of them */
};

static void mix(uint64_t *sum, const void *p, size_t n)
{
	const uint8_t *octets = p;

	for (size_t i = 0; i < n; i++)
		*sum = (*sum ^ octets[i]) * 1099511628211u;
}

static void check_request(struct span in, size_t pass, const struct http_request *r)
{
	struct name again;

	if (r->target.p < in.p || r->target.p + r->target.n > in.p + pass || r->path.n == 0)
		abort();
	if (r->host == HTTP_HOST_ABSENT && r->minor != 0)
		abort();
	if (r->host == HTTP_HOST_NAME &&
	    (name_parse_ascii(r->name.s, r->name.n, &again) != NAME_OK ||
	     !name_equal(&again, &r->name)))
		abort();
}

static void note_request(struct outcome *o, const struct http_request *r)
{
	mix(&o->requests, r->method, strlen(r->method));
	mix(&o->requests, r->path.p, r->path.n);
	mix(&o->requests, &r->host, sizeof(r->host));
	mix(&o->requests, &r->port, sizeof(r->port));
	if (r->host == HTTP_HOST_NAME)
		mix(&o->requests, r->name.s, r->name.n);
}

static size_t pass_unread(struct http_guard *g, size_t left)
{
	size_t n = http_guard_unread(g) < left ? (size_t)http_guard_unread(g) : left;

	http_guard_skip(g, n);
	return n;
}

/* One call, which is a step of the gate. The number of octets that left. */
static size_t feed_once(struct http_guard *g, struct span in, uint8_t mode, struct outcome *o)
{
	struct http_request request;
	size_t pass;

	if (mode & PASSES_UNREAD && in.n) {
		pass = pass_unread(g, in.n);
		if (pass)
			return pass;
	}
	o->last = http_guard_feed(g, in, &request, &pass);
	if (pass > in.n)
		abort();
	if (o->last == HTTP_REQUEST) {
		check_request(in, pass, &request);
		note_request(o, &request);
	}
	if (o->last == HTTP_HOLD && g->phase == HTTP_PHASE_HOLD && in.n) {
		http_guard_answered(g, mode & SWITCHES ? 101 : 200);
		return feed_once(g, in, mode, o);
	}
	return pass;
}

static struct outcome feed(struct span s, size_t step, uint8_t mode)
{
	struct http_guard g = {0};
	struct outcome o = {0};
	size_t n = 0, pass;

	while (n < s.n) {
		n = s.n - n < step ? s.n : n + step;
		do {
			pass = feed_once(&g, span_of(s.p + o.passed, n - o.passed), mode, &o);
			o.passed += pass;
		} while (pass);
	}
	return o;
}

static void feed_status(struct span s)
{
	struct http_status whole = {0}, stepped = {0};
	unsigned a = 0, b = 0;
	enum http_status_state state = http_status_feed(&whole, s, &a), got = HTTP_STATUS_MORE;

	for (size_t i = 0; i < s.n && got == HTTP_STATUS_MORE; i++)
		got = http_status_feed(&stepped, span_of(s.p + i, 1), &b);
	if (got != state || a != b)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, stepped;
	struct span s;

	if (size < 2)
		return 0;
	s = span_of(data + 1, size - 1);
	whole = feed(s, s.n, data[0] & SWITCHES);
	stepped = feed(s, (data[0] & STEP_MASK) + 1u, data[0]);
	if (whole.passed != stepped.passed || whole.requests != stepped.requests)
		abort();
	if (whole.last != stepped.last && whole.passed < s.n)
		abort();
	feed_status(s);
	return 0;
}
