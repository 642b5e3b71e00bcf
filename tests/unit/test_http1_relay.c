/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "codec_relay.h"
#include "heap.h"
#include "http1_probe.h"

/* ---- A relay whose two peers are octets of the test ---- */

struct relay {
	struct codec_relay codecs;
	struct text to_server, to_client; /* what came out of it */
	bool refuse;
};

static bool judge(void *ctx, struct message *request)
{
	return !((struct relay *)ctx)->refuse;
}

static void open_relay(struct relay *r)
{
	*r = (struct relay){0};
	relay_open(&r->codecs, http1_server_new, http1_client_new);
	r->codecs.judge = judge;
	r->codecs.ctx = r;
	r->codecs.server_continues = true;
}

static void close_relay(struct relay *r)
{
	relay_close(&r->codecs);
	text_free(&r->to_server);
	text_free(&r->to_client);
}

static bool collect(struct codec *c, struct text *t)
{
	uint8_t memory[1024];
	struct buf out = buf_of(memory, sizeof(memory));
	size_t n = c->ops->produce(c, &out);

	text_add(t, memory, n);
	return n > 0;
}

static void settle(struct relay *r)
{
	bool some;

	do {
		some = collect(r->codecs.client, &r->to_server);
		some = collect(r->codecs.server, &r->to_client) || some;
	} while (some);
}

/* All of it, in steps; what is not taken at once is offered again. */
static enum codec_error feed(struct relay *r, struct codec *c, struct span in, size_t step)
{
	enum codec_error error = CODEC_OK;
	size_t at = 0, n = 0, taken;

	while (!error && at < in.n) {
		n = in.n - n < step ? in.n : n + step;
		error = c->ops->receive(c, span_of(in.p + at, n - at), &taken);
		settle(r);
		at += taken;
		if (n == in.n && taken == 0)
			break;
	}
	return error;
}

struct story {
	const char *request, *to_server, *answer, *to_client;
	bool ends;    /* the server closes behind its answer */
	bool refused; /* the judge says no */
	bool cut, finished;
};

static void tell(const struct story *s, size_t step)
{
	struct relay r;

	open_relay(&r);
	r.refuse = s->refused;
	feed(&r, r.codecs.server, span_of_string(s->request), step);
	assert_string_equal(r.to_server.p ? r.to_server.p : "", s->to_server);
	feed(&r, r.codecs.client, span_of_string(s->answer), step);
	if (s->ends)
		r.codecs.client->ops->receive_end(r.codecs.client);
	settle(&r);
	assert_string_equal(r.to_client.p ? r.to_client.p : "", s->to_client);
	assert_string_equal(r.to_server.p ? r.to_server.p : "", s->to_server);
	assert_int_equal(r.codecs.server->cut, s->cut);
	assert_int_equal(r.codecs.server->finished, s->finished);
	close_relay(&r);
}

static void tell_all(const struct story *stories, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t step = 1; step < 4096; step = step * 5 + 2)
			tell(&stories[i], step);
}

#define GET	   "GET / HTTP/1.1\r\nhost: a.example\r\n\r\n"
#define GET_OLD	   "GET / HTTP/1.0\r\nHost: a.example\r\n\r\n"
#define CHUNKED	   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_TO "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

/* ---- Framing ---- */

static void bodies_of_requests_are_framed_anew(void **state)
{
	static const char answer[] = "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok";
	static const char told[] = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
	static const struct story stories[] = {
		{"POST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0000000003\r\n\r\nabc",
		 "POST /x HTTP/1.1\r\nhost: a.example\r\ncontent-length: 3\r\n\r\nabc", answer,
		 told, false, false, false, false},
		{"GET /%41/../b HTTP/1.1\r\nHost: a.example\r\nProxy-Authorization: x\r\n\r\n",
		 "GET /%41/../b HTTP/1.1\r\nhost: a.example\r\n\r\n", answer, told, false, false,
		 false, false},
	};

	tell_all(stories, sg_array_len(stories));
}

/* Chunks may be cut anew, so the whole comes at once. */
static void chunks_lose_their_extensions(void **state)
{
	static const struct story s = {
		"DELETE / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3;ext=\"a\"\r\nabc\r\n0d\r\n0123456789abc\r\n000;x\r\nX-Sum:  7\r\n\r\n",
		"DELETE / HTTP/1.1\r\nhost: a.example\r\ntransfer-encoding: chunked\r\n\r\n"
		"10\r\nabc0123456789abc\r\n0\r\nx-sum: 7\r\n\r\n",
		CHUNKED "1;y\r\nx\r\n0\r\nX-Sum: 8\r\nx-b: \r\n\r\n",
		CHUNKED_TO "1\r\nx\r\n0\r\nx-sum: 8\r\nx-b: \r\n\r\n",
		false,
		false,
		false,
		false,
	};

	tell(&s, 4096);
}

static void answers_are_framed_for_their_client(void **state)
{
	static const struct story stories[] = {
		/* without a length: the end of the connection becomes a last chunk */
		{GET, GET, "HTTP/1.1 200 OK\r\n\r\n", CHUNKED_TO "0\r\n\r\n", true, false, false,
		 false},
		/* HTTP/1.0 knows no chunks */
		{GET_OLD, GET, CHUNKED "2\r\nhi\r\n0\r\nX: y\r\n\r\n",
		 "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhi", false, false, false, true},
		{"GET / HTTP/1.0\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n", GET,
		 CHUNKED "2\r\nhi\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhi",
		 false, false, false, true},
		{"GET / HTTP/1.0\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n", GET,
		 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		 "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nhi", false,
		 false, false, false},
		/* that the server closes is its hop's alone */
		{GET, GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
		 "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", true, false, false, false},
	};

	tell_all(stories, sg_array_len(stories));
}

static void answers_without_a_body(void **state)
{
#define HEAD_TO "HEAD / HTTP/1.1\r\nhost: a.example\r\n\r\n"
	static const struct story stories[] = {
		{HEAD_TO, HEAD_TO, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		 "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", false, false, false, false},
		{HEAD_TO, HEAD_TO, CHUNKED, "HTTP/1.1 200 OK\r\n\r\n", false, false, false, false},
		{GET, GET, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
		 "HTTP/1.1 304 Not Modified\r\netag: x\r\ncontent-length: 5\r\n\r\n", false, false,
		 false, false},
		{GET, GET, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
		 "HTTP/1.1 204 No Content\r\n\r\n", false, false, false, false},
		{GET, GET, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		 "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false, false, false, false},
	};

	tell_all(stories, sg_array_len(stories));
}

static void interim_answers_are_relayed(void **state)
{
	static const char answer[] =
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
	static const struct story stories[] = {
		{GET, GET, answer,
		 "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 \r\n\r\n"
		 "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
		 false, false, false, false},
		{GET_OLD, GET, answer,
		 "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx", false, false,
		 false, true},
	};

	tell_all(stories, sg_array_len(stories));
}

/* A client that does not read its 1xx bounds what waits for it. */
static void interim_answers_are_bounded(void **state)
{
	struct relay r;
	size_t taken;

	open_relay(&r);
	feed(&r, r.codecs.server, span_of_string(GET), 4096);
	for (unsigned i = 0; i < 20000; i++)
		assert_int_equal(r.codecs.client->ops->receive(
					 r.codecs.client,
					 span_of_string("HTTP/1.1 102 Processing\r\nX: y\r\n\r\n"),
					 &taken),
				 CODEC_OK);
	settle(&r);
	assert_in_range(r.to_client.n, 60000, 70000);
	close_relay(&r);
}

/* ---- 100-continue ---- */

#define EXPECTS \
	"PUT / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
#define EXPECTS_TO \
	"PUT / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 3\r\nexpect: 100-continue\r\n\r\n"

static void a_client_is_told_to_continue_by_the_server(void **state)
{
	struct relay r;

	open_relay(&r);
	feed(&r, r.codecs.server, span_of_string(EXPECTS), 4096);
	assert_string_equal(r.to_server.p, EXPECTS_TO);
	assert_int_equal(r.to_client.n, 0);
	feed(&r, r.codecs.client, span_of_string("HTTP/1.1 100 Continue\r\n\r\n"), 4096);
	assert_string_equal(r.to_client.p, "HTTP/1.1 100 Continue\r\n\r\n");
	feed(&r, r.codecs.server, span_of_string("abc"), 4096);
	assert_string_equal(r.to_server.p, EXPECTS_TO "abc");
	close_relay(&r);
}

/* As when the judge has to see the body. */
static void a_client_is_told_to_continue_when_the_body_is_wanted(void **state)
{
	struct relay r;
	struct exchange *x;

	open_relay(&r);
	feed(&r, r.codecs.server, span_of_string(EXPECTS), 4096);
	x = (struct exchange *)r.codecs.exchanges;
	r.codecs.server->ops->resume_receive(r.codecs.server, x);
	r.codecs.server->ops->resume_receive(r.codecs.server, x);
	settle(&r);
	assert_string_equal(r.to_client.p, "HTTP/1.1 100 Continue\r\n\r\n");
	close_relay(&r);
}

static void a_refused_client_is_not_told_to_continue(void **state)
{
	static const struct story stories[] = {
		{EXPECTS, "", "",
		 "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", false,
		 true, false, true},
		{EXPECTS, EXPECTS_TO, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n",
		 "HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
		 false, false, false, true},
	};

	tell_all(stories, sg_array_len(stories));
}

/* ---- Ends ---- */

static void what_is_refused_reaches_no_server(void **state)
{
	static const struct story s = {
		GET,   "",   "",    "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
		false, true, false, false};

	tell_all(&s, 1);
}

/* Its answer may still be on the way: the client must be able to send all of it. */
static void a_refused_body_is_discarded(void **state)
{
	static uint8_t piece[100000];
	struct relay r;
	size_t taken;

	open_relay(&r);
	r.refuse = true;
	r.codecs.server->ops->receive(
		r.codecs.server,
		span_of_string(
			"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 300000\r\n\r\n"),
		&taken);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(r.codecs.server->ops->receive(
					 r.codecs.server, span_of(piece, sizeof(piece)), &taken),
				 CODEC_OK);
		assert_int_equal(taken, sizeof(piece));
	}
	assert_int_equal(relay_held(&r.codecs), 0);
	close_relay(&r);
}

static void a_server_that_fails_gets_502(void **state)
{
	static const char told[] = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
	static const struct story stories[] = {
		{GET, GET, "", told, true, false, false, false},
		{GET, GET, "HTTP/1.1 200", told, true, false, false, false},
		{GET, GET, "HTTP/1.1 200 OK\r\n folded\r\n\r\n", told, false, false, false, false},
		{GET, GET, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
		 told, false, false, false, false},
	};

	tell_all(stories, sg_array_len(stories));
}

/* What did come may be there or not; the end must be missing, and the connection cut. */
static void an_answer_that_fails_never_looks_whole(void **state)
{
	static const char *const rows[][3] = {
		{GET, CHUNKED "2\r\nhi\r\n", "0\r\n\r\n"},
		{GET, CHUNKED "2\r\nhi\r\n0\r\n", "0\r\n\r\n"},
		{GET, CHUNKED "2\r\nhi\r\nx\r\n\r\n", "0\r\n\r\n"},
		{GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", "hi???"},
		{GET_OLD, CHUNKED "2\r\nhi\r\n", "???"},
		{GET_OLD, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", "hi???"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct relay r;

		open_relay(&r);
		feed(&r, r.codecs.server, span_of_string(rows[i][0]), 4096);
		feed(&r, r.codecs.client, span_of_string(rows[i][1]), 1);
		r.codecs.client->ops->receive_end(r.codecs.client);
		settle(&r);
		assert_non_null(strstr(r.to_client.p, "HTTP/1.1 200 OK\r\n"));
		assert_null(strstr(r.to_client.p, rows[i][2]));
		assert_true(r.codecs.server->cut && r.codecs.server->finished);
		assert_false(r.codecs.server->persistent);
		close_relay(&r);
	}
}

static void a_client_that_fails_cuts_its_request(void **state)
{
	struct relay r;

	open_relay(&r);
	feed(&r, r.codecs.server,
	     span_of_string("POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n"
			    "\r\n2\r\nhi\r\n"),
	     4096);
	assert_non_null(strstr(r.to_server.p, "\r\n\r\n2\r\nhi\r\n"));
	assert_false(r.codecs.server->ops->receive_end(r.codecs.server));
	settle(&r);
	assert_null(strstr(r.to_server.p, "0\r\n\r\n"));
	assert_true(r.codecs.client->cut && r.codecs.client->finished);
	close_relay(&r);
}

static void an_early_answer_ends_both_connections(void **state)
{
	struct relay r;

	open_relay(&r);
	feed(&r, r.codecs.server,
	     span_of_string("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 9\r\n\r\nabc"),
	     4096);
	feed(&r, r.codecs.client, span_of_string("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno"),
	     4096);
	assert_string_equal(r.to_client.p, "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n"
					   "connection: close\r\n\r\nno");
	assert_true(r.codecs.server->finished && !r.codecs.server->cut);
	assert_true(r.codecs.client->finished && !r.codecs.client->persistent);
	assert_null(r.codecs.exchanges);
	/* the rest of the body, and a request behind it, are nobody's */
	assert_int_equal(feed(&r, r.codecs.server, span_of_string("defghi" GET), 4096), CODEC_OK);
	assert_null(strstr(r.to_server.p, "def"));
	close_relay(&r);
}

/* The answer comes while the request still goes out; both go on. */
static void both_directions_at_once(void **state)
{
	struct relay r;

	open_relay(&r);
	feed(&r, r.codecs.server,
	     span_of_string("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 4\r\n\r\nab"),
	     4096);
	feed(&r, r.codecs.client, span_of_string(CHUNKED "2\r\nAB\r\n"), 4096);
	assert_non_null(strstr(r.to_client.p, "\r\n\r\n2\r\nAB\r\n"));
	feed(&r, r.codecs.server, span_of_string("cd"), 4096);
	assert_non_null(strstr(r.to_server.p, "\r\n\r\nabcd"));
	feed(&r, r.codecs.client, span_of_string("2\r\nCD\r\n0\r\n\r\n"), 4096);
	assert_non_null(strstr(r.to_client.p, "2\r\nCD\r\n0\r\n\r\n"));
	assert_true(r.codecs.client->persistent);
	assert_false(r.codecs.server->cut);
	close_relay(&r);
}

static void shut_goes_on_with_what_is_under_way(void **state)
{
	struct relay r;

	open_relay(&r);
	feed(&r, r.codecs.server, span_of_string(GET), 4096);
	r.codecs.server->ops->shut(r.codecs.server);
	assert_false(r.codecs.server->finished);
	feed(&r, r.codecs.client, span_of_string("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
	     4096);
	assert_non_null(strstr(r.to_client.p, "connection: close\r\n\r\nx"));
	assert_true(r.codecs.server->finished && !r.codecs.server->cut);
	r.codecs.client->ops->shut(r.codecs.client);
	assert_true(r.codecs.client->finished);
	close_relay(&r);
}

/* ---- WebSocket ---- */

static void websocket_passes_both_ways(void **state)
{
	struct relay r;

	open_relay(&r);
	feed(&r, r.codecs.server,
	     span_of_string("GET /w HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"
			    "Connection: Upgrade\r\n\r\nearly"),
	     4096);
	assert_null(strstr(r.to_server.p, "early"));
	assert_false(((struct exchange *)r.codecs.exchanges)->up.ended);
	feed(&r, r.codecs.client,
	     span_of_string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
			    "Connection: Upgrade\r\n\r\n\x81\x02hi"),
	     4096);
	assert_non_null(strstr(r.to_client.p, "connection: upgrade\r\n\r\n\x81\x02hi"));
	feed(&r, r.codecs.server, span_of_string("early and late"), 3);
	assert_non_null(strstr(r.to_server.p, "connection: upgrade\r\n\r\nearly and late"));
	assert_true(r.codecs.server->ops->receive_end(r.codecs.server));
	settle(&r);
	assert_true(r.codecs.client->finished && !r.codecs.client->cut);
	assert_false(r.codecs.server->finished);
	feed(&r, r.codecs.client, span_of_string("the last"), 4096);
	assert_non_null(strstr(r.to_client.p, "the last"));
	assert_true(r.codecs.client->ops->receive_end(r.codecs.client));
	settle(&r);
	assert_true(r.codecs.server->finished && !r.codecs.server->cut);
	assert_null(r.codecs.exchanges);
	close_relay(&r);
}

static void a_declined_websocket_is_an_ordinary_answer(void **state)
{
	struct relay r;

	open_relay(&r);
	feed(&r, r.codecs.server,
	     span_of_string("GET /w HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"
			    "Connection: Upgrade\r\n\r\n"),
	     4096);
	feed(&r, r.codecs.client, span_of_string("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
	     4096);
	assert_string_equal(r.to_client.p, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
	text_free(&r.to_server);
	feed(&r, r.codecs.server, span_of_string(GET), 4096);
	assert_string_equal(r.to_server.p, GET);
	close_relay(&r);
}

/* ---- One connection, many requests; and what is printed is parsed to the same ---- */

static void ten_thousand_requests_on_one_connection(void **state)
{
	struct relay r;

	open_relay(&r);
	for (unsigned i = 0; i < 10000; i++) {
		feed(&r, r.codecs.server, span_of_string(GET), 4096);
		assert_string_equal(r.to_server.p, GET);
		feed(&r, r.codecs.client,
		     span_of_string("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"), 4096);
		assert_string_equal(r.to_client.p, "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx");
		text_free(&r.to_server);
		text_free(&r.to_client);
	}
	assert_true(r.codecs.server->persistent && r.codecs.client->persistent);
	assert_true(r.codecs.server->ops->idle(r.codecs.server));
	assert_true(r.codecs.client->ops->idle(r.codecs.client));
	close_relay(&r);
}

static struct text pass(struct span request)
{
	struct relay r;
	struct text out;

	open_relay(&r);
	feed(&r, r.codecs.server, request, 4096);
	out = r.to_server;
	r.to_server = (struct text){0};
	close_relay(&r);
	return out;
}

static void what_is_printed_parses_to_itself(void **state)
{
	static const char *const requests[] = {
		"GET / HTTP/1.0\r\nHost: A.example.\r\n\r\n",
		"POST /a HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\nContent-Length: 3\r\n"
		"X-A:\t b\tc \r\nx-empty:\r\n\r\nabc",
		"PUT http://a.example/b?c HTTP/1.1\r\nHost: a.example\r\n"
		"Transfer-Encoding: chunked\r\n\r\n3;e\r\nabc\r\n0\r\nX-T: u\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a.example\r\nTE: trailers\r\n"
		"Connection: te, x\r\nX: y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"
		"Connection: upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
		EXPECTS "abc",
	};

	for (size_t i = 0; i < sg_array_len(requests); i++) {
		struct text once = pass(span_of_string(requests[i])),
			    twice = pass(span_of(once.p, once.n));

		assert_string_equal(once.p, twice.p);
		text_free(&once);
		text_free(&twice);
	}
}

/* ---- 1 GiB each way ---- */

enum { GIB = 1 << 30, MIB = 1 << 20, PIECE = 16 * 1024 };

struct flood {
	uint64_t up_put, up_seen, down_put, down_seen;
	struct exchange outer, inner;
	struct codec *origin;
	bool done;
	/* what a body repeats; the first octet of each piece tells the place besides */
	uint8_t pattern[65536];
};

static void put_some(struct flood *f, struct body *b, uint64_t *put)
{
	while (*put < GIB && body_room(b) >= PIECE) {
		uint8_t piece[PIECE];
		uint8_t high = (uint8_t)(*put >> 16);

		memcpy(piece, f->pattern + *put % 65536, PIECE);
		piece[0] ^= high;
		assert_true(body_put(b, span_of(piece, PIECE)));
		*put += PIECE;
	}
	b->ended = *put == GIB;
}

static void see_some(struct flood *f, struct body *b, uint64_t *seen)
{
	while (b->n) {
		struct span piece = body_peek(b);
		size_t to_mark = PIECE - *seen % PIECE;
		size_t n = piece.n < to_mark ? piece.n : to_mark;
		uint8_t first = f->pattern[*seen % 65536];

		if (*seen % PIECE == 0)
			first ^= (uint8_t)(*seen >> 16);
		assert_int_equal(piece.p[0], first);
		assert_memory_equal(piece.p + 1, f->pattern + *seen % 65536 + 1, n - 1);
		body_take(b, n);
		*seen += n;
	}
}

static struct exchange *flood_request(void *ctx, struct codec *c, struct message *m)
{
	struct flood *f = ctx;
	struct message answer;

	assert_int_equal(m->body, MESSAGE_BODY_STREAM);
	message_init(&answer);
	answer.status = 200;
	answer.body = MESSAGE_BODY_STREAM;
	c->ops->send_answer(c, &f->inner, &answer);
	return &f->inner;
}

static void flood_answer(struct exchange *x, struct message *m)
{
	assert_int_equal(m->status, 200);
}

static void flood_filled(struct exchange *x, struct codec *c)
{
	struct flood *f = c->server ? sg_container_of(x, struct flood, inner)
				    : sg_container_of(x, struct flood, outer);

	if (c->server)
		see_some(f, &x->up, &f->up_seen);
	else
		see_some(f, &x->down, &f->down_seen);
}

static void flood_drained(struct exchange *x, struct codec *c)
{
}

static void flood_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	fail_msg("failed %d", why);
}

static void flood_done(struct exchange *x, struct codec *c)
{
	if (!c->server)
		sg_container_of(x, struct flood, outer)->done = true;
}

static const struct codec_events flood_events = {
	.request = flood_request,
	.answer = flood_answer,
	.body_filled = flood_filled,
	.body_drained = flood_drained,
	.failed = flood_failed,
	.done = flood_done,
};

/* A connection from one codec to another, which holds what was not taken. */
struct wire {
	struct codec *from, *to;
	uint8_t octets[PIECE];
	size_t at, n;
};

static bool carry(struct wire *w)
{
	struct buf out = buf_of(w->octets, sizeof(w->octets));
	size_t taken = 0;

	if (w->at == w->n) {
		w->at = 0;
		w->n = w->from->ops->produce(w->from, &out);
	}
	if (w->at == w->n)
		return false;
	assert_int_equal(
		w->to->ops->receive(w->to, span_of(w->octets + w->at, w->n - w->at), &taken),
		CODEC_OK);
	w->at += taken;
	return true;
}

static void start_flood(struct flood *f, struct codec *outer)
{
	struct message m = {.body = MESSAGE_BODY_STREAM};

	for (size_t i = 0; i < sizeof(f->pattern); i++)
		f->pattern[i] = (uint8_t)(i ^ i >> 8);
	assert_true(message_store(&m, span_of_string("POST"), &m.method));
	assert_true(message_store(&m, span_of_string("/"), &m.path));
	assert_true(message_store(&m, span_of_string("a.example"), &m.authority));
	assert_true(outer->ops->send_request(outer, &f->outer, &m));
	message_free(&m);
}

static void a_gibibyte_each_way_in_constant_memory(void **state)
{
	static struct flood f;
	struct codec_relay codecs;
	struct codec *outer = http1_client_new(&flood_events, NULL);
	size_t before, most = 0;

	f.origin = http1_server_new(&flood_events, &f);
	assert_true(outer && f.origin);
	relay_open(&codecs, http1_server_new, http1_client_new);
	{
		struct wire wires[] = {
			{.from = outer, .to = codecs.server},
			{.from = codecs.client, .to = f.origin},
			{.from = f.origin, .to = codecs.client},
			{.from = codecs.server, .to = outer},
		};

		before = heap_in_use();
		start_flood(&f, outer);
		while (!f.done) {
			bool moved = false;

			put_some(&f, &f.outer.up, &f.up_put);
			if (f.inner.client.stream)
				put_some(&f, &f.inner.down, &f.down_put);
			for (size_t i = 0; i < sg_array_len(wires); i++)
				moved = carry(&wires[i]) || moved;
			assert_true(moved);
			most = heap_in_use() > most ? heap_in_use() : most;
		}
	}
	assert_true(f.up_seen == GIB && f.down_seen == GIB);
	assert_in_range(most - before, 1, MIB);
	assert_int_equal(codecs.failures, 0);
	relay_close(&codecs);
	outer->ops->free(outer);
	f.origin->ops->free(f.origin);
	body_free(&f.outer.up);
	body_free(&f.inner.down);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_of_requests_are_framed_anew),
		cmocka_unit_test(chunks_lose_their_extensions),
		cmocka_unit_test(answers_are_framed_for_their_client),
		cmocka_unit_test(answers_without_a_body),
		cmocka_unit_test(interim_answers_are_relayed),
		cmocka_unit_test(interim_answers_are_bounded),
		cmocka_unit_test(a_client_is_told_to_continue_by_the_server),
		cmocka_unit_test(a_client_is_told_to_continue_when_the_body_is_wanted),
		cmocka_unit_test(a_refused_client_is_not_told_to_continue),
		cmocka_unit_test(what_is_refused_reaches_no_server),
		cmocka_unit_test(a_refused_body_is_discarded),
		cmocka_unit_test(a_server_that_fails_gets_502),
		cmocka_unit_test(an_answer_that_fails_never_looks_whole),
		cmocka_unit_test(a_client_that_fails_cuts_its_request),
		cmocka_unit_test(an_early_answer_ends_both_connections),
		cmocka_unit_test(both_directions_at_once),
		cmocka_unit_test(shut_goes_on_with_what_is_under_way),
		cmocka_unit_test(websocket_passes_both_ways),
		cmocka_unit_test(a_declined_websocket_is_an_ordinary_answer),
		cmocka_unit_test(ten_thousand_requests_on_one_connection),
		cmocka_unit_test(what_is_printed_parses_to_itself),
		cmocka_unit_test(a_gibibyte_each_way_in_constant_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
