/* SPDX-License-Identifier: Apache-2.0 */
/* The client role, against frames that are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "http2_wire.h"
#include "own_clock.h"

enum { NO_ERROR = 0, PROTOCOL = 1, REFUSED = 7, CANCEL = 8, CALM = 11 };
enum { ASKED_MAX = 256 };

struct asked {
	struct exchange x; /* first */
	unsigned answers;  /* heads */
	struct message last;
	enum codec_error failed;
	bool done;
};

static struct {
	struct codec *codec;
	struct asked asked[ASKED_MAX];
	unsigned n;
	bool hold;
	struct wire in, out;
} rig;

static struct asked *asked_of(struct exchange *x)
{
	return (struct asked *)x;
}

static void on_answer(struct exchange *x, struct message *m)
{
	struct asked *a = asked_of(x);

	assert_false(a->done);
	message_free(&a->last);
	assert_true(message_copy(m, &a->last));
	a->answers++;
}

static void on_filled(struct exchange *x, struct codec *c)
{
	if (rig.hold)
		return;
	body_take(&x->down, x->down.n);
	c->ops->resume_receive(c, x);
}

static void on_drained(struct exchange *x, struct codec *c)
{
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	assert_int_equal(asked_of(x)->failed, CODEC_OK);
	assert_false(asked_of(x)->done);
	asked_of(x)->failed = why;
}

static void on_done(struct exchange *x, struct codec *c)
{
	assert_int_equal(asked_of(x)->failed, CODEC_OK);
	assert_false(asked_of(x)->done);
	asked_of(x)->done = true;
}

static int setup(void **state)
{
	static const struct codec_events events = {
		.answer = on_answer,
		.body_filled = on_filled,
		.body_drained = on_drained,
		.failed = on_failed,
		.done = on_done,
	};

	memset(&rig, 0, sizeof(rig));
	rig.codec = http2_client_new(&events, NULL);
	assert_non_null(rig.codec);
	rig.codec->tls = true;
	return 0;
}

static int teardown(void **state)
{
	rig.codec->ops->free(rig.codec);
	for (unsigned i = 0; i < rig.n; i++) {
		message_free(&rig.asked[i].last);
		body_free(&rig.asked[i].x.up);
		body_free(&rig.asked[i].x.down);
	}
	return 0;
}

static void put_text(struct message *m, struct span *to, const char *text)
{
	assert_true(message_store(m, span_of_string(text), to));
}

static void make_request(struct message *m, const char *method)
{
	message_init(m);
	put_text(m, &m->method, method);
	put_text(m, &m->scheme, "https");
	put_text(m, &m->authority, "a.example");
	put_text(m, &m->path, "/p?q");
}

/* NULL: it is not taken now. */
static struct asked *ask_message(struct message *m)
{
	struct asked *a = &rig.asked[rig.n];
	bool sent;

	a->x.head_request = span_equal(m->method, span_of_string("HEAD"));
	sent = rig.codec->ops->send_request(rig.codec, &a->x, m);
	message_free(m);
	rig.n += sent;
	return sent ? a : NULL;
}

static struct asked *ask_later(void)
{
	struct message m;

	make_request(&m, "GET");
	return ask_message(&m);
}

static struct asked *ask(const char *method)
{
	struct message m;
	struct asked *a;

	make_request(&m, method);
	a = ask_message(&m);
	wire_collect(rig.codec, &rig.out);
	return a;
}

static struct asked *ask_websocket(void)
{
	struct message m;

	make_request(&m, "GET");
	put_text(&m, &m.protocol, "websocket");
	assert_true(message_add(&m, span_of_string("sec-websocket-key"), span_of_string("x")));
	return ask_message(&m);
}

static struct asked *post(void)
{
	struct message m;

	make_request(&m, "POST");
	m.body = MESSAGE_BODY_STREAM;
	return ask_message(&m);
}

static void settings(uint16_t id, uint32_t value)
{
	uint8_t p[6];
	struct buf b = buf_of(p, sizeof(p));

	buf_put_u16(&b, id);
	buf_put_u32(&b, value);
	wire_frame(&rig.in, SETTINGS, 0, 0, span_of(p, id ? sizeof(p) : 0));
}

static enum codec_error feed(void)
{
	enum codec_error error = wire_feed(rig.codec, &rig.in, 0, &rig.out);

	rig.in.n = 0;
	return error;
}

static void feed_well(void)
{
	assert_int_equal(feed(), CODEC_OK);
}

static void greet(void)
{
	settings(0, 0);
	feed_well();
}

static void collect(void)
{
	wire_collect(rig.codec, &rig.out);
}

static void reply(uint32_t id, uint8_t flags, const char *status)
{
	const char *const fields[] = {":status", status, NULL};

	wire_headers(&rig.in, id, flags, fields);
}

static void data(uint32_t id, uint8_t flags, const char *text)
{
	wire_frame(&rig.in, DATA, flags, id, span_of_string(text));
}

/* What came out, without the preface. */
static struct wire *said(void)
{
	static struct wire w;

	assert_true(rig.out.n >= WIRE_PREFACE);
	assert_memory_equal(rig.out.p, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", WIRE_PREFACE);
	w.n = rig.out.n - WIRE_PREFACE;
	memcpy(w.p, rig.out.p + WIRE_PREFACE, w.n);
	return &w;
}

/* The fields of a HEADERS frame as "name: value\n"; "!" before those that must never be indexed. */
static const char *unpack(uint32_t id)
{
	static char text[4096];
	nghttp2_hd_inflater *inflater;
	struct wire_seen seen;
	size_t at = 0;
	int flags = 0;

	collect();
	assert_true(wire_find(said(), HEADERS, id, &seen));
	assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
	while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
		nghttp2_nv nv;
		ssize_t n;

		flags = 0;
		n = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, seen.payload.p, seen.payload.n,
					   1);
		assert_true(n >= 0);
		seen.payload = span_of(seen.payload.p + n, seen.payload.n - (size_t)n);
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s: %s\n",
					       nv.flags & NGHTTP2_NV_FLAG_NO_INDEX ? "!" : "",
					       nv.name, nv.value);
	}
	nghttp2_hd_inflate_del(inflater);
	return text;
}

/* ---- Requests ---- */

static void test_what_it_says_first(void **state)
{
	struct wire_seen seen;

	collect();
	assert_true(wire_find(said(), SETTINGS, 0, &seen));
	assert_memory_equal(seen.payload.p, "\0\2\0\0\0\0", 6); /* ENABLE_PUSH 0 */
	assert_true(wire_find(said(), WINDOW_UPDATE, 0, &seen));
}

static void test_request(void **state)
{
	struct wire_seen seen;

	assert_non_null(ask("GET"));
	assert_string_equal(unpack(1), ":method: GET\n:scheme: https\n:authority: a.example\n"
				       ":path: /p?q\n");
	assert_true(wire_find(said(), HEADERS, 1, &seen));
	assert_true(seen.flags & END_STREAM);
}

static void test_a_credential_is_never_indexed(void **state)
{
	struct message m;

	make_request(&m, "PUT");
	m.body = MESSAGE_BODY_LENGTH;
	m.length = 0;
	m.expects_continue = true;
	assert_true(message_add(&m, span_of_string("authorization"), span_of_string("Bearer s3")));
	m.fields[0].sensitive = m.path_sensitive = true;
	assert_true(message_add(&m, span_of_string("te"), span_of_string("trailers")));
	assert_non_null(ask_message(&m));
	assert_string_equal(unpack(1),
			    ":method: PUT\n:scheme: https\n:authority: a.example\n!:path: /p?q\n"
			    "!authorization: Bearer s3\nte: trailers\ncontent-length: 0\n"
			    "expect: 100-continue\n");
}

static void test_websocket(void **state)
{
	struct asked *a;

	assert_null(ask_websocket()); /* nobody knows yet whether the server takes it */
	settings(8, 1);
	feed_well();
	a = ask_websocket();
	assert_non_null(a);
	assert_string_equal(unpack(1), ":method: CONNECT\n:scheme: https\n:authority: a.example\n"
				       ":path: /p?q\n:protocol: websocket\n");
	rig.hold = true;
	reply(1, 0, "200");
	data(1, 0, "hi");
	feed_well();
	assert_int_equal(a->last.status, 101);
	assert_true(a->x.opaque);
	assert_int_equal(a->x.down.n, 2);
	assert_true(body_put(&a->x.up, span_of("yo", 2)));
	a->x.up.ended = true;
	rig.codec->ops->resume_send(rig.codec, &a->x);
	data(1, END_STREAM, "");
	feed_well();
	assert_true(a->done);
}

static void test_a_server_without_websocket(void **state)
{
	struct asked *a;

	greet();
	a = ask_websocket();
	assert_non_null(a);
	collect();
	assert_int_equal(a->failed, CODEC_PEER);
	assert_string_equal(rig.codec->why, "the server takes no WebSocket over HTTP/2");
	assert_non_null(ask("GET"));
	assert_string_equal(unpack(1), ":method: GET\n:scheme: https\n:authority: a.example\n"
				       ":path: /p?q\n");
}

static void test_as_many_streams_as_the_server_takes(void **state)
{
	unsigned n = 0;

	while (ask("GET"))
		n++;
	assert_int_equal(n, 100); /* before it said */
	settings(3, 2);
	for (uint32_t i = 0; i < 99; i++)
		reply(1 + 2 * i, END_STREAM, "200");
	feed_well();
	assert_non_null(ask("GET"));
	assert_null(ask("GET"));
	settings(3, 1000);
	feed_well();
	for (n = 2; ask("GET"); n++)
		;
	assert_int_equal(n, 128);
	settings(3, 0);
	feed_well();
	assert_null(ask("GET"));
}

/* ---- Answers ---- */

static void test_answer(void **state)
{
	const char *const head[] = {":status", "200",	 "alt-svc", "h3=\":443\"", "content-length",
				    "2",       "server", "x",	    NULL};
	const char *const trailers[] = {"grpc-status", "0", NULL};
	struct asked *a;

	greet();
	rig.hold = true;
	a = ask("GET");
	reply(1, 0, "103");
	reply(1, 0, "100");
	feed_well();
	assert_int_equal(a->answers, 2);
	wire_headers(&rig.in, 1, 0, head);
	data(1, 0, "ok");
	wire_headers(&rig.in, 1, END_STREAM, trailers);
	feed_well();
	assert_int_equal(a->answers, 3);
	assert_int_equal(a->last.status, 200);
	assert_int_equal(a->last.body, MESSAGE_BODY_LENGTH);
	assert_int_equal(a->last.length, 2);
	assert_int_equal(a->last.n_fields, 1);
	assert_memory_equal(body_peek(&a->x.down).p, "ok", 2);
	assert_true(a->x.down.ended);
	assert_non_null(message_find(a->x.down.trailers, "grpc-status", NULL));
	assert_true(a->done);
	assert_true(rig.codec->ops->idle(rig.codec));
}

static void test_answers_without_a_body(void **state)
{
	const char *const head[] = {":status", "200", "content-length", "1000", NULL};
	const char *const unchanged[] = {":status", "304", "content-length", "1000", NULL};
	struct asked *a, *b;

	greet();
	a = ask("HEAD");
	b = ask("GET");
	wire_headers(&rig.in, 1, END_STREAM, head);
	wire_headers(&rig.in, 3, END_STREAM, unchanged);
	feed_well();
	assert_true(a->done && a->x.down.ended);
	assert_int_equal(a->last.length, 1000);
	assert_true(b->done && b->x.down.ended);
	assert_int_equal(b->last.length, 1000);
}

static void test_malformed_answers(void **state)
{
	static const char *const rows[][8] = {
		{"server", "x"},
		{":status", "20"},
		{":status", "1000"},
		{":status", "101"},
		{":status", "200", ":status", "200"},
		{":status", "200", "connection", "close"},
		{":status", "200", "transfer-encoding", "chunked"},
		{":status", "200", "Upper", "x"},
		{":status", "200", "x", "a\r\nset-cookie: b"},
		{":status", "200", "x", "a "},
		{":status", "200", "content_length", "1"},
		{":status", "200", "content-length", "x"},
		{":status", "200", "content-length", "5"},
		{":path", "/"},
	};

	greet();
	for (uint32_t i = 0; i < sg_array_len(rows); i++) {
		struct asked *a = ask("GET"), *next = ask("GET");

		wire_headers(&rig.in, 1 + 4 * i, END_STREAM, rows[i]);
		reply(3 + 4 * i, END_STREAM, "200");
		feed_well();
		if (a->failed != CODEC_MALFORMED || !a->x.down.failed)
			fail_msg("row %u: %d", i, a->failed);
		assert_non_null(rig.codec->why);
		assert_int_equal(wire_error(said(), RST_STREAM, 1 + 4 * i), PROTOCOL);
		assert_true(next->done);
	}
	assert_true(rig.codec->persistent);
}

static void test_bodies_and_trailers_that_are_malformed(void **state)
{
	const char *const three[] = {":status", "200", "content-length", "3", NULL};
	const char *const trailers[] = {"set-cookie", "a=1", NULL};

	greet();
	for (int i = 0; i < 4; i++)
		assert_non_null(ask("GET"));
	wire_headers(&rig.in, 1, 0, three);
	data(1, END_STREAM, "ab");
	wire_headers(&rig.in, 3, 0, three);
	data(3, 0, "abcd");
	reply(5, 0, "200");
	wire_headers(&rig.in, 5, END_STREAM, trailers);
	reply(7, END_STREAM, "103");
	feed_well();
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(rig.asked[i].failed, CODEC_MALFORMED);
		assert_false(rig.asked[i].x.down.ended);
	}
}

static void test_a_head_that_is_too_large(void **state)
{
	static const char *fields[2 * (MESSAGE_FIELDS_MAX + 4)] = {":status", "200"};
	size_t n = 2;
	struct asked *a;

	for (int i = 0; i <= MESSAGE_FIELDS_MAX; i++) {
		fields[n++] = "x";
		fields[n++] = "y";
	}
	greet();
	a = ask("GET");
	wire_headers(&rig.in, 1, END_STREAM, fields);
	feed_well();
	assert_int_equal(a->failed, CODEC_TOO_LARGE);
}

static void test_interim_answers_without_end(void **state)
{
	struct asked *a;
	unsigned n = 0;

	greet();
	a = ask("GET");
	while (n < 10000 && feed() == CODEC_OK) {
		reply(1, 0, "103");
		n++;
	}
	assert_in_range(n, 900, 1200);
	assert_int_equal(a->failed, CODEC_FLOOD);
	assert_int_equal(wire_error(said(), GOAWAY, 0), CALM);
}

/* ---- What is cut, and what may be tried again ---- */

static void goaway(uint32_t last, uint32_t code)
{
	uint8_t p[8];
	struct buf b = buf_of(p, sizeof(p));

	buf_put_u32(&b, last);
	buf_put_u32(&b, code);
	wire_frame(&rig.in, GOAWAY, 0, 0, buf_span(&b));
}

static void test_goaway(void **state)
{
	struct asked *below, *above;

	greet();
	below = ask("GET");
	above = ask("GET");
	goaway(1, NO_ERROR);
	feed_well();
	assert_int_equal(above->failed, CODEC_RETRY);
	assert_int_equal(below->failed, CODEC_OK);
	assert_false(rig.codec->persistent);
	assert_null(ask("GET"));
	assert_false(rig.codec->finished);
	reply(1, END_STREAM, "200");
	feed_well();
	assert_true(below->done);
	assert_true(rig.codec->finished);
}

static void test_goaway_before_the_request_left(void **state)
{
	struct asked *a;

	greet();
	a = ask_later();
	goaway(0, NO_ERROR);
	feed_well();
	assert_int_equal(a->failed, CODEC_RETRY);
}

static void test_resets(void **state)
{
	static const struct {
		uint32_t code;
		const char *status; /* of a head that came before; NULL: none */
		enum codec_error why;
	} rows[] = {
		{REFUSED, NULL, CODEC_RETRY},
		{REFUSED, "200", CODEC_PEER},
		{CANCEL, NULL, CODEC_PEER},
		{NO_ERROR, NULL, CODEC_PEER},
	};

	greet();
	for (uint32_t i = 0; i < sg_array_len(rows); i++) {
		struct asked *a = ask("GET");

		if (rows[i].status)
			reply(1 + 2 * i, 0, rows[i].status);
		wire_u32_frame(&rig.in, RST_STREAM, 1 + 2 * i, rows[i].code);
		feed_well();
		assert_int_equal(a->failed, rows[i].why);
	}
}

static void test_a_whole_answer_before_the_end_of_the_request(void **state)
{
	struct asked *a;

	greet();
	a = post();
	assert_true(body_put(&a->x.up, span_of("abc", 3)));
	collect();
	reply(1, END_STREAM, "413");
	feed_well();
	assert_false(a->done); /* the rest may be wanted */
	wire_u32_frame(&rig.in, RST_STREAM, 1, NO_ERROR);
	feed_well();
	assert_true(a->done);
	assert_true(a->x.down.ended && !a->x.down.failed);
}

static void test_the_server_ends(void **state)
{
	struct asked *whole, *part;

	greet();
	whole = ask("GET");
	part = ask("GET");
	reply(1, END_STREAM, "200");
	reply(3, 0, "200");
	feed_well();
	assert_true(whole->done);
	assert_false(rig.codec->ops->receive_end(rig.codec));
	assert_int_equal(part->failed, CODEC_PEER);
	assert_true(part->x.down.failed);
	assert_true(rig.codec->ops->receive_end(rig.codec));
}

static void test_reset_of_ours(void **state)
{
	struct asked *a, *unsent;

	greet();
	a = ask("GET");
	unsent = ask_later();
	rig.codec->ops->reset(rig.codec, &a->x, CODEC_PEER);
	rig.codec->ops->reset(rig.codec, &unsent->x, CODEC_PEER);
	collect();
	assert_int_equal(wire_error(said(), RST_STREAM, 1), CANCEL);
	assert_int_equal(a->failed, CODEC_OK);
	assert_int_equal(unsent->failed, CODEC_OK);
	reply(1, END_STREAM, "200");
	feed_well();
	assert_int_equal(a->answers, 0);
	assert_true(rig.codec->ops->idle(rig.codec));
}

/* ---- What servers must not do ---- */

static void test_push(void **state)
{
	greet();
	ask("GET");
	wire_frame(&rig.in, SETTINGS, ACK, 0, span_of(NULL, 0));
	wire_frame(&rig.in, PUSH_PROMISE, END_HEADERS, 1, span_of("\0\0\0\2\x82", 5));
	feed();
	assert_int_equal(wire_error(said(), GOAWAY, 0), PROTOCOL);
	assert_int_equal(rig.asked[0].failed, CODEC_MALFORMED);
	assert_true(rig.codec->finished);
}

static void test_a_stream_that_nobody_asked_for(void **state)
{
	greet();
	reply(1, END_STREAM, "200");
	feed();
	assert_int_equal(wire_error(said(), GOAWAY, 0), PROTOCOL);
}

static void test_altsvc_frames_are_dropped(void **state)
{
	struct asked *a;

	greet();
	a = ask("GET");
	wire_frame(&rig.in, ALTSVC, 0, 1, span_of("\0\0h3=\":443\"", 11));
	reply(1, END_STREAM, "200");
	feed_well();
	assert_int_equal(a->answers, 1);
	assert_true(a->done);
}

static void test_not_http2(void **state)
{
	struct asked *a = ask("GET");

	memcpy(rig.in.p, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	rig.in.n = 28;
	feed();
	assert_true(rig.codec->finished);
	assert_int_equal(a->failed, CODEC_MALFORMED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_it_says_first),
		TEST(test_request),
		TEST(test_a_credential_is_never_indexed),
		TEST(test_websocket),
		TEST(test_a_server_without_websocket),
		TEST(test_as_many_streams_as_the_server_takes),
		TEST(test_answer),
		TEST(test_answers_without_a_body),
		TEST(test_malformed_answers),
		TEST(test_bodies_and_trailers_that_are_malformed),
		TEST(test_a_head_that_is_too_large),
		TEST(test_interim_answers_without_end),
		TEST(test_goaway),
		TEST(test_goaway_before_the_request_left),
		TEST(test_resets),
		TEST(test_a_whole_answer_before_the_end_of_the_request),
		TEST(test_the_server_ends),
		TEST(test_reset_of_ours),
		TEST(test_push),
		TEST(test_a_stream_that_nobody_asked_for),
		TEST(test_altsvc_frames_are_dropped),
		TEST(test_not_http2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
