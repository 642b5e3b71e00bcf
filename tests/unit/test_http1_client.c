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
#include "http1_probe.h"
#include "malformed_http.h"

#define GET_ASKED "GET / HTTP/1.1\r\nhost: a.example\r\n\r\n"

static struct outcome feed_in_all_ways(struct span stream, struct probe_way way)
{
	return probe_in_all_ways(probe_client, stream, way);
}

/* ---- Requests ---- */

static void requests_are_written(void **state)
{
	static const char *const rows[][2] = {
		{"GET /%2e%2e/a;b?c HTTP/1.1\r\nHost: A.example:80\r\nAccept: x\r\n\r\n",
		 "GET /%2e%2e/a;b?c HTTP/1.1\r\nhost: A.example:80\r\naccept: x\r\n\r\n"},
		{"GET http://a.example/?x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		 "GET /?x HTTP/1.1\r\nhost: a.example\r\n\r\n"},
		{"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
		 "OPTIONS * HTTP/1.1\r\nhost: a.example\r\n\r\n"},
		{"GET / HTTP/1.0\r\nHost: a.example\r\n\r\n", GET_ASKED},
		{"POST / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		 "POST / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 0\r\n\r\n"},
		{"DELETE / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n",
		 "DELETE / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 0\r\n\r\n"},
		{"DELETE / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n",
		 "DELETE / HTTP/1.1\r\nhost: a.example\r\ntransfer-encoding: chunked\r\n\r\n"},
		{"PUT / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-Continue\r\n"
		 "Content-Length: 007\r\n\r\n",
		 "PUT / HTTP/1.1\r\nhost: a.example\r\ncontent-length: 7\r\n"
		 "expect: 100-continue\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHost: a.example\r\nTE: trailers\r\nConnection: TE\r\n\r\n",
		 "GET / HTTP/1.1\r\nhost: a.example\r\nte: trailers\r\nconnection: te\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"
		 "Connection: upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n",
		 "GET / HTTP/1.1\r\nhost: a.example\r\nsec-websocket-version: 13\r\n"
		 "upgrade: websocket\r\nconnection: upgrade\r\n\r\n"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct outcome o =
			probe_client(span_of(NULL, 0), (struct probe_way){.ask = rows[i][0]});

		assert_string_equal(o.sent.p, rows[i][1]);
		outcome_free(&o);
	}
}

static struct message request_of(const char *method, const char *path, const char *authority)
{
	struct message m;

	message_init(&m);
	assert_true(message_store(&m, span_of_string(method), &m.method));
	assert_true(message_store(&m, span_of_string(path), &m.path));
	assert_true(message_store(&m, span_of_string(authority), &m.authority));
	return m;
}

/* Whoever made the message: what two readers could split in two ways is not written. */
static void unsound_requests_are_not_written(void **state)
{
	static const char *const rows[][3] = {
		{"GET", "/ HTTP/1.1\r\nX: y", "a.example"},
		{"GET", "/a b", "a.example"},
		{"GET", "/\n", "a.example"},
		{"GET", "", "a.example"},
		{"GET", "a.example/", "a.example"},
		{"GET", "/", ""},
		{"GET", "/", "a.example\r\nx: y"},
		{"GET /x", "/", "a.example"},
		{"", "/", "a.example"},
		{"CONNECT", "/", "a.example"},
	};
	static const struct codec_events none;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct codec *c = http1_client_new(&none, NULL);
		struct message m = request_of(rows[i][0], rows[i][1], rows[i][2]);
		struct exchange x = {0};
		uint8_t memory[64];
		struct buf out = buf_of(memory, sizeof(memory));

		assert_non_null(c);
		assert_false(c->ops->send_request(c, &x, &m));
		assert_non_null(c->why);
		assert_false(c->persistent);
		assert_int_equal(c->ops->produce(c, &out), 0);
		message_free(&m);
		c->ops->free(c);
	}
}

static struct text written(const struct message *m)
{
	static const struct codec_events none;
	struct codec *c = http1_client_new(&none, NULL);
	struct exchange x = {0};
	uint8_t memory[512];
	struct buf out = buf_of(memory, sizeof(memory));
	struct text t = {0};

	assert_non_null(c);
	assert_true(c->ops->send_request(c, &x, m));
	c->ops->produce(c, &out);
	text_add(&t, out.p, out.n);
	c->ops->free(c);
	return t;
}

/* Wherever a message came from, its fields cannot frame it in a second way. */
static void fields_do_not_frame(void **state)
{
	static const char *const names[] = {
		"connection",	    "content-length",	 "expect", "host", "keep-alive",
		"proxy-connection", "transfer-encoding", "upgrade"};
	struct message m = request_of("GET", "/", "a.example");
	struct text t;

	for (size_t i = 0; i < sg_array_len(names); i++)
		assert_true(message_add(&m, span_of_string(names[i]), span_of_string("5")));
	t = written(&m);
	assert_string_equal(t.p, GET_ASKED);
	text_free(&t);
	message_free(&m);
}

static void only_a_get_asks_for_websocket(void **state)
{
	static const struct {
		const char *method, *protocol;
		bool sent;
	} rows[] = {
		{"GET", "websocket", true},
		{"GET", "h2c", false},
		{"POST", "websocket", false},
		{"CONNECT", "websocket", false},
	};
	static const struct codec_events none;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct codec *c = http1_client_new(&none, NULL);
		struct message m = request_of(rows[i].method, "/w", "a.example");
		struct exchange x = {0};

		assert_non_null(c);
		m.protocol = span_of_string(rows[i].protocol);
		assert_int_equal(c->ops->send_request(c, &x, &m), rows[i].sent);
		message_free(&m);
		c->ops->free(c);
	}
}

static void one_request_at_a_time(void **state)
{
	static const struct codec_events none;
	struct codec *c = http1_client_new(&none, NULL);
	struct message m = request_of("GET", "/", "a.example");
	struct exchange x = {0}, y = {0};

	assert_non_null(c);
	assert_true(c->ops->send_request(c, &x, &m));
	assert_false(c->ops->idle(c));
	assert_false(c->ops->send_request(c, &y, &m));
	assert_true(c->persistent);
	c->ops->reset(c, &x, CODEC_PEER);
	assert_true(c->cut && c->finished);
	assert_false(c->ops->send_request(c, &y, &m));
	message_free(&m);
	c->ops->free(c);
}

/* ---- Answers ---- */

enum way { STAYS, CLOSES };

static void check(const char *ask, const char *answer, const char *told, enum way way)
{
	struct outcome o = feed_in_all_ways(span_of_string(answer), (struct probe_way){.ask = ask});

	assert_string_equal(o.told.p, told);
	assert_int_equal(o.error, CODEC_OK);
	assert_int_equal(o.persistent, way == STAYS);
	assert_int_equal(o.finished, way == CLOSES);
	assert_true(!o.cut && o.idle);
	outcome_free(&o);
}

static void answers_are_told(void **state)
{
	check(NULL, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A:  b \r\n\r\nhi",
	      "200 length 2\n\tx-a b\nbody 2: hi\ndone\n", STAYS);
	check(NULL, "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", "404 length 0\nbody 0: \ndone\n",
	      STAYS);
	check(NULL, "HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n", "599 length 0\nbody 0: \ndone\n",
	      STAYS);
	check(NULL, "HTTP/1.1 200 \xc3\xbc \r\nContent-Length: 0\r\n\r\n",
	      "200 length 0\nbody 0: \ndone\n", STAYS);
	check(NULL,
	      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n"
	      "1\r\n!\r\n0\r\nX-Sum: 3\r\n\r\n",
	      "200 stream\nbody 3: hi!\nnone\n\tx-sum 3\ndone\n", STAYS);
	check(NULL, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
	      "200 length 1\nbody 1: x\ndone\n", CLOSES);
	check(NULL, "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
	      "200 length 1\nbody 1: x\ndone\n", CLOSES);
	check(NULL, "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx",
	      "200 length 1\nbody 1: x\ndone\n", STAYS);
}

static void fields_of_the_hop_are_left_out(void **state)
{
	check(NULL,
	      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x-hop\r\nX-Hop: 1\r\n"
	      "Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nProxy-Connection: x\r\n"
	      "Alt-Svc: h3=\":443\"\r\nUpgrade: h2c\r\nDate: today\r\nTE: x\r\n\r\n",
	      "200 length 0\n\tdate today\n\tte x\nbody 0: \ndone\n", STAYS);
}

static void some_answers_have_no_body(void **state)
{
	static const char head[] = "HEAD / HTTP/1.1\r\nHost: a.example\r\n\r\n";

	check(head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
	      "200 length 5\nbody 0: \ndone\n", STAYS);
	check(head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	      "200 none\nbody 0: \ndone\n", STAYS);
	check(head, "HTTP/1.1 200 OK\r\n\r\n", "200 none\nbody 0: \ndone\n", STAYS);
	check(NULL, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
	      "304 length 5\nbody 0: \ndone\n", STAYS);
	check(NULL, "HTTP/1.1 304 Not Modified\r\n\r\n", "304 none\nbody 0: \ndone\n", STAYS);
	check(NULL, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
	      "204 none\nbody 0: \ndone\n", STAYS);
	check(NULL, "HTTP/1.1 204 No Content\r\n\r\n", "204 none\nbody 0: \ndone\n", STAYS);
}

static void interim_answers_come_before_the_final(void **state)
{
	check(NULL,
	      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
	      "100 none\n103 none\n\tlink </a>\n200 length 1\nbody 1: x\ndone\n", STAYS);
}

static void a_body_may_end_with_the_connection(void **state)
{
	struct outcome o =
		feed_in_all_ways(span_of_string("HTTP/1.1 200 OK\r\n\r\nall\r\n\r\nof it"),
				 (struct probe_way){.ends = true});

	assert_string_equal(o.told.p, "200 stream\nbody 12: all\r\n\r\nof it\ndone\nend 1\n");
	assert_true(!o.persistent && o.finished && !o.cut && o.error == CODEC_OK);
	outcome_free(&o);
	o = probe_client(span_of_string("HTTP/1.1 200 OK\r\n\r\nsome"), (struct probe_way){0});
	assert_true(!o.persistent && !o.finished);
	outcome_free(&o);
}

/* ---- Ends in the middle, and octets too many ---- */

static void an_answer_that_ends_early_fails(void **state)
{
	static const char *const rows[][2] = {
		{"", "failed after 0: \nfailed 4\nend 0\n"},
		{"HTTP/1.1 200", "failed after 0: \nfailed 4\nend 0\n"},
		{"HTTP/1.1 100 Continue\r\n\r\n", "100 none\nfailed after 0: \nfailed 4\nend 0\n"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
		 "200 length 3\nfailed after 2: hi\nfailed 4\nend 0\n"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n",
		 "200 stream\nfailed after 2: hi\nfailed 4\nend 0\n"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct outcome o = feed_in_all_ways(span_of_string(rows[i][0]),
						    (struct probe_way){.ends = true});

		assert_string_equal(o.told.p, rows[i][1]);
		assert_true(!o.persistent && o.finished && o.cut);
		outcome_free(&o);
	}
}

static void octets_behind_an_answer_end_the_connection(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\n\r\n",
	};
	static const char *const behind[] = {"y", "\r\n",
					     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};

	for (size_t i = 0; i < sg_array_len(answers) * sg_array_len(behind); i++) {
		char text[256];
		struct outcome o;

		snprintf(text, sizeof(text), "%s%s", answers[i / sg_array_len(behind)],
			 behind[i % sg_array_len(behind)]);
		o = feed_in_all_ways(span_of_string(text), (struct probe_way){0});
		assert_int_equal(o.error, CODEC_MALFORMED);
		assert_non_null(strstr(o.told.p, "done\n"));
		assert_null(strstr(o.told.p, "failed"));
		assert_true(!o.persistent && o.finished);
		outcome_free(&o);
	}
}

struct next {
	struct exchange x, second;
	struct codec *c;
	struct message *m;
	unsigned answers, failures;
};

static void count_answer(struct exchange *x, struct message *m)
{
	((struct next *)((char *)x - offsetof(struct next, x)))->answers++;
}

static void ignore(struct exchange *x, struct codec *c)
{
}

static void ask_again(struct exchange *x, struct codec *c)
{
	struct next *n = (struct next *)((char *)x - offsetof(struct next, x));

	assert_true(c->ops->send_request(c, &n->second, n->m));
}

static void second_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	struct next *n = (struct next *)((char *)x - offsetof(struct next, second));

	assert_ptr_equal(x, &n->second);
	n->failures++;
}

/* An answer that was planted behind another must not become that of the next request. */
static void a_planted_answer_is_no_answer(void **state)
{
	static const char two[] = "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n"
				  "Content-Length: 0\r\n\r\n";
	static const struct codec_events events = {
		.answer = count_answer,
		.body_filled = ignore,
		.body_drained = ignore,
		.failed = second_failed,
		.done = ask_again,
	};
	struct message m = request_of("GET", "/", "a.example");
	struct next n = {.m = &m};
	uint8_t memory[256];
	struct buf out = buf_of(memory, sizeof(memory));
	size_t taken;

	n.c = http1_client_new(&events, NULL);
	assert_non_null(n.c);
	assert_true(n.c->ops->send_request(n.c, &n.x, &m));
	n.c->ops->produce(n.c, &out);
	assert_int_equal(n.c->ops->receive(n.c, span_of_string(two), &taken), CODEC_MALFORMED);
	assert_int_equal(n.answers, 1);
	assert_int_equal(n.failures, 1);
	assert_true(n.second.down.failed);
	assert_false(n.c->persistent);
	message_free(&m);
	n.c->ops->free(n.c);
}

static void a_server_that_speaks_first_is_refused(void **state)
{
	static const struct codec_events none;
	struct codec *c = http1_client_new(&none, NULL);
	size_t taken;

	assert_non_null(c);
	assert_int_equal(
		c->ops->receive(c, span_of_string("HTTP/1.1 408 Too Slow\r\n\r\n"), &taken),
		CODEC_MALFORMED);
	assert_true(c->finished && !c->persistent);
	c->ops->free(c);
}

/* ---- WebSocket ---- */

static const char websocket[] = "GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"
				"Connection: Upgrade\r\n\r\n";
static const char switched[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n"
			       "Connection: upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";

static void the_first_frame_may_come_with_the_switch(void **state)
{
	char text[512];
	struct outcome o;

	snprintf(text, sizeof(text), "%s\x81\x02hi", switched);
	o = feed_in_all_ways(span_of_string(text),
			     (struct probe_way){.ask = websocket, .ends = true});
	assert_string_equal(o.told.p, "101 none\n\tsec-websocket-accept x\n"
				      "body 4: \x81\x02hi\nend 1\ndone\n");
	assert_true(!o.persistent && o.finished && !o.cut);
	outcome_free(&o);
}

static void a_switch_may_be_declined(void **state)
{
	check(websocket, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n",
	      "426 length 0\nbody 0: \ndone\n", STAYS);
}

/* ---- What is refused ---- */

static void check_malformed(const char *ask, const char *text)
{
	struct outcome o = feed_in_all_ways(span_of_string(text), (struct probe_way){.ask = ask});

	if (o.error != CODEC_MALFORMED || strstr(o.told.p, "done") || strstr(o.told.p, "body") ||
	    !strstr(o.told.p, "failed 1\n"))
		fail_msg("accepted: %s: %s", text, o.told.p);
	assert_true(!o.persistent && o.finished && o.cut && o.idle);
	outcome_free(&o);
}

static void switches_that_were_not_asked_for(void **state)
{
	check_malformed(NULL, switched);
	check_malformed(websocket, "HTTP/1.1 101 Switching\r\n\r\n");
	check_malformed(websocket,
			"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n");
	check_malformed(websocket, "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n");
}

static void malformed_heads_are_refused(void **state)
{
#define OK "HTTP/1.1 200 OK\r\n"
	static const char *const texts[] = {
		"\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"<html>\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/1.1 600 OK\r\n\r\n",
		"HTTP/1.1 +20 OK\r\n\r\n",
		"HTTP/1.1 200\tOK\r\n\r\n",
		"HTTP/1.1 200 O\x01K\r\n\r\n",
		"HTTP/1.1200 OK\r\n\r\n",
		"HTTP/1.2 200 OK\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"http/1.1 200 OK\r\n\r\n",
		"ICY 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
		"HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n",
		OK "X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		OK "X: a\nY: b\r\n\r\n",
		OK "X: a\rY: b\r\n\r\n",
		OK "X : a\r\n\r\n",
		OK "X\r\n\r\n",
		OK ": a\r\n\r\n",
		OK "X Y: a\r\n\r\n",
		OK "X: \x01\r\n\r\n",
		OK "Connection: a b\r\n\r\n",
		OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
		OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
		OK "Content-Length: 1, 1\r\n\r\nx",
		OK "Content-Length: +1\r\n\r\nx",
		OK "Content-Length: -1\r\n\r\nx",
		OK "Content-Length: 1_0\r\n\r\nx",
		OK "Content-Length:\r\n\r\nx",
		OK "Content-Length: 9223372036854775808\r\n\r\nx",
		OK "Content_Length: 1\r\n\r\nx",
		OK "Content-Length : 1\r\n\r\nx",
		OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		OK "Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n",
		OK "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	};

	for (size_t i = 0; i < sg_array_len(texts); i++)
		check_malformed(NULL, texts[i]);
}

static void malformed_chunks_are_refused(void **state)
{
	for (size_t i = 0; i < sg_array_len(malformed_chunks); i++) {
		char text[256];

		snprintf(text, sizeof(text), OK "Transfer-Encoding: chunked\r\n\r\n%s",
			 malformed_chunks[i]);
		check_malformed(NULL, text);
	}
}

static void heads_are_bounded(void **state)
{
	for (unsigned n = 128; n <= 129; n++) {
		struct text t = {0};
		struct outcome o;

		text_printf(&t, "HTTP/1.1 204 OK\r\n");
		for (unsigned i = 0; i < n; i++)
			text_printf(&t, "x: y\r\n");
		text_printf(&t, "\r\n");
		o = feed_in_all_ways(span_of(t.p, t.n), (struct probe_way){0});
		assert_int_equal(o.error, n > 128 ? CODEC_TOO_LARGE : CODEC_OK);
		outcome_free(&o);
		text_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_written),
		cmocka_unit_test(unsound_requests_are_not_written),
		cmocka_unit_test(fields_do_not_frame),
		cmocka_unit_test(only_a_get_asks_for_websocket),
		cmocka_unit_test(one_request_at_a_time),
		cmocka_unit_test(answers_are_told),
		cmocka_unit_test(fields_of_the_hop_are_left_out),
		cmocka_unit_test(some_answers_have_no_body),
		cmocka_unit_test(interim_answers_come_before_the_final),
		cmocka_unit_test(a_body_may_end_with_the_connection),
		cmocka_unit_test(an_answer_that_ends_early_fails),
		cmocka_unit_test(octets_behind_an_answer_end_the_connection),
		cmocka_unit_test(a_planted_answer_is_no_answer),
		cmocka_unit_test(a_server_that_speaks_first_is_refused),
		cmocka_unit_test(the_first_frame_may_come_with_the_switch),
		cmocka_unit_test(a_switch_may_be_declined),
		cmocka_unit_test(switches_that_were_not_asked_for),
		cmocka_unit_test(malformed_heads_are_refused),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(heads_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
