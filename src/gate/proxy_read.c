/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_read: the messages of a client of the proxy port. Each step takes one, or says false: it is
 * not whole, or all is over.
 */
#include <sys/socket.h>

#include "gate/proxy.h"
#include "gate/proxy_state.h"

enum { HEAD_MS = 10000 /* from the first octet to a whole request */ };

static bool take(struct flow *fl, size_t n)
{
	if (recv(fl->in.watch.fd, NULL, n, MSG_TRUNC) == (ssize_t)n)
		return true;
	flow_abort(fl);
	return false;
}

static bool refuse_protocol(struct flow *fl)
{
	flow_refuse(fl, (struct event){.proto = fl->proto, .reason = REASON_MALFORMED_SOCKS});
	flow_abort(fl);
	return false;
}

/* Takes a message of n octets and answers it. */
static bool take_and_tell(struct flow *fl, size_t n, const uint8_t answer[2])
{
	if (!take(fl, n))
		return false;
	if (proxy_tell(fl, answer, 2))
		return true;
	flow_abort(fl);
	return false;
}

static bool read_greeting(struct flow *fl, struct span seen)
{
	uint8_t chosen[2] = {5, SOCKS_NO_METHOD};
	struct buf none = {.p = chosen, .n = sizeof(chosen), .cap = sizeof(chosen)};
	enum socks_method method;
	size_t n;
	enum socks_result got = socks_greeting_read(seen, &n, &method);

	if (got != SOCKS_WHOLE)
		return got == SOCKS_WRONG && refuse_protocol(fl);
	if (method == SOCKS_NO_METHOD) {
		proxy_finish(fl, &none);
		return false;
	}
	chosen[1] = (uint8_t)method;
	proxy_of(fl)->phase = method == SOCKS_PASSWORD ? PROXY_PASSWORD : PROXY_REQUEST;
	return take_and_tell(fl, n, chosen);
}

static bool read_password(struct flow *fl, struct span seen)
{
	static const uint8_t accepted[2] = {1, 0};
	size_t n;
	enum socks_result got = socks_password_read(seen, &n);

	if (got != SOCKS_WHOLE)
		return got == SOCKS_WRONG && refuse_protocol(fl);
	proxy_of(fl)->phase = PROXY_REQUEST;
	return take_and_tell(fl, n, accepted);
}

static bool read_socks(struct flow *fl, struct span seen)
{
	struct proxy *p = proxy_of(fl);
	enum socks_reply reply;
	size_t n;

	switch (socks_request_read(seen, &n, &p->to, &reply)) {
	case SOCKS_MORE:
		return false;
	case SOCKS_WRONG:
		proxy_refuse_socks(fl, reply);
		return false;
	case SOCKS_WHOLE:
		break;
	}
	if (take(fl, n))
		proxy_ask(fl);
	return false;
}

static bool read_http(struct flow *fl, struct span seen)
{
	struct proxy *p = proxy_of(fl);

	switch (proxy_request_read(&p->request, seen)) {
	case PROXY_ASKS_MORE:
		return false;
	case PROXY_ASKS_WRONG:
		proxy_refuse_malformed(fl, p->request.status, p->request.why);
		return false;
	case PROXY_ASKS_ABSOLUTE:
		p->absolute = true;
		break;
	case PROXY_ASKS_TUNNEL:
		if (!take(fl, p->request.octets))
			return false;
		break;
	}
	p->to = p->request.to;
	proxy_ask(fl);
	return false;
}

static bool read_message(struct flow *fl, struct span seen)
{
	const struct proxy *p = proxy_of(fl);

	switch (p->phase) {
	case PROXY_GREETING:
		return read_greeting(fl, seen);
	case PROXY_PASSWORD:
		return read_password(fl, seen);
	case PROXY_REQUEST:
		return p->socks ? read_socks(fl, seen) : read_http(fl, seen);
	case PROXY_RESOLVING:
	case PROXY_DIALING:
		break;
	}
	return false;
}

static void note_first_octet(struct flow *fl)
{
	if (!fl->timer_is_idle)
		return;
	fl->timer_is_idle = false;
	flow_set_timer(fl, HEAD_MS);
}

/* False: there is nothing to go on with now. */
static bool read_on(struct flow *fl)
{
	bool last = fl->in.hangup;
	uint32_t generation = fl->generation;
	struct span seen;

	switch (relay_peek(&fl->in, &seen)) {
	case MOVED_SOME:
		note_first_octet(fl);
		if (read_message(fl, seen))
			return true;
		/* A message that the end of the stream cuts short will never be whole. */
		if (last && fl->generation == generation && fl->state == FLOW_PROXY &&
		    proxy_of(fl)->phase <= PROXY_REQUEST)
			flow_close(fl);
		return false;
	case MOVED_END:
		flow_close(fl);
		return false;
	case MOVED_ERROR:
		flow_abort(fl);
		return false;
	case MOVED_NOTHING:
		break;
	}
	return false;
}

void proxy_in_ready(struct flow *fl)
{
	if (proxy_of(fl)->phase > PROXY_REQUEST)
		return;
	while (read_on(fl))
		;
}
