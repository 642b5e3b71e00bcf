/* SPDX-License-Identifier: Apache-2.0 */
/* The server role, against frames that are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "http2_wire.h"
#include "own_clock.h"

enum {
	NO_ERROR = 0,
	PROTOCOL = 1,
	FLOW_CONTROL = 3,
	FRAME_SIZE = 6,
	REFUSED = 7,
	COMPRESSION = 9,
	CALM = 11,
	STREAM_CLOSED = 5,
	NOTHING = -1
};

/* ---- What stands behind the codec: it keeps what it is told ---- */

struct stand_in {
	struct exchange x; /* first */
	struct stand_in *next;
	struct message request;
	enum codec_error failed;
	bool done, filled;
};

static struct {
	struct codec *codec;
	struct stand_in *all; /* newest first */
	unsigned n;
	bool refuse, answer_at_once, hold; /* hold: bodies are not drained */
	struct wire in, out;
} rig;

static struct stand_in *stand_in_of(struct exchange *x)
{
	return (struct stand_in *)x;
}

static void answer(struct stand_in *e, uint16_t status)
{
	struct message m;

	message_init(&m);
	m.status = status;
	rig.codec->ops->send_answer(rig.codec, &e->x, &m);
	message_free(&m);
}

static struct exchange *on_request(void *ctx, struct codec *c, struct message *m)
{
	struct stand_in *e = rig.refuse ? NULL : calloc(1, sizeof(*e));

	assert_ptr_equal(ctx, &rig);
	rig.n++;
	if (!e)
		return NULL;
	e->next = rig.all;
	rig.all = e;
	assert_true(message_copy(m, &e->request));
	if (rig.answer_at_once)
		answer(e, 204);
	return &e->x;
}

static void on_filled(struct exchange *x, struct codec *c)
{
	stand_in_of(x)->filled = true;
	if (rig.hold)
		return;
	body_take(&x->up, x->up.n);
	c->ops->resume_receive(c, x);
}

static void on_drained(struct exchange *x, struct codec *c)
{
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	assert_int_equal(stand_in_of(x)->failed, CODEC_OK);
	assert_int_not_equal(why, CODEC_OK);
	assert_false(stand_in_of(x)->done);
	stand_in_of(x)->failed = why;
}

static void on_done(struct exchange *x, struct codec *c)
{
	assert_false(stand_in_of(x)->done);
	stand_in_of(x)->done = true;
}

static int setup(void **state)
{
	static const struct codec_events events = {
		.request = on_request,
		.body_filled = on_filled,
		.body_drained = on_drained,
		.failed = on_failed,
		.done = on_done,
	};

	rig.codec = http2_server_new(&events, &rig);
	assert_non_null(rig.codec);
	rig.codec->tls = true;
	rig.n = 0;
	rig.refuse = rig.answer_at_once = rig.hold = false;
	rig.in.n = rig.out.n = 0;
	wire_preface(&rig.in);
	return 0;
}

static int teardown(void **state)
{
	rig.codec->ops->free(rig.codec);
	while (rig.all) {
		struct stand_in *e = rig.all;

		rig.all = e->next;
		message_free(&e->request);
		body_free(&e->x.up);
		body_free(&e->x.down);
		free(e);
	}
	return 0;
}

static enum codec_error feed(size_t step)
{
	enum codec_error error = wire_feed(rig.codec, &rig.in, step, &rig.out);

	rig.in.n = 0;
	return error;
}

static void feed_well(void)
{
	assert_int_equal(feed(0), CODEC_OK);
	assert_true(rig.codec->persistent);
}

static void collect(void)
{
	wire_collect(rig.codec, &rig.out);
}

static void assert_reset(uint32_t id, uint32_t code)
{
	assert_int_equal(wire_error(&rig.out, RST_STREAM, id), code);
	assert_int_equal(wire_error(&rig.out, GOAWAY, 0), UINT32_MAX);
}

/* The connection is at its end, which shows when all is produced. */
static void assert_goaway(uint32_t code)
{
	size_t taken;

	assert_int_equal(wire_error(&rig.out, GOAWAY, 0), code);
	assert_true(rig.codec->finished);
	assert_int_not_equal(rig.codec->ops->receive(rig.codec, span_of("x", 1), &taken), CODEC_OK);
	assert_non_null(rig.codec->why);
}

static struct wire_seen find(uint8_t type, uint32_t id)
{
	struct wire_seen seen;

	if (!wire_find(&rig.out, type, id, &seen))
		fail_msg("no frame of type %u", type);
	return seen;
}

static bool has(uint8_t type, uint32_t id)
{
	struct wire_seen seen;

	return wire_find(&rig.out, type, id, &seen);
}

/* ---- What a connection begins with ---- */

static void test_settings(void **state)
{
	struct wire_seen seen;
	struct reader r;
	uint32_t said[10] = {0};

	feed_well();
	seen = find(SETTINGS, 0);
	r = reader_of(seen.payload);
	while (reader_left(&r)) {
		uint16_t id = reader_u16(&r);

		assert_in_range(id, 1, 9);
		said[id] = reader_u32(&r);
	}
	assert_int_equal(said[3], 128); /* MAX_CONCURRENT_STREAMS */
	assert_int_equal(said[4], BODY_ROOM);
	assert_int_equal(said[6], MESSAGE_HEAD_MAX + 133 * 32);
	assert_int_equal(said[8], 1); /* ENABLE_CONNECT_PROTOCOL */
	assert_int_equal(said[9], 1); /* NO_RFC7540_PRIORITIES */
	assert_true(has(WINDOW_UPDATE, 0));
}

static void test_what_is_no_preface(void **state)
{
	rig.in.n = 0;
	memcpy(rig.in.p, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 35);
	rig.in.n = 35;
	assert_int_equal(feed(0), CODEC_MALFORMED);
	assert_goaway(PROTOCOL);
}

static void test_a_request_however_it_is_cut(void **state)
{
	wire_get(&rig.in, 1);
	assert_int_equal(feed(1), CODEC_OK);
	assert_int_equal(rig.n, 1);
	assert_string_equal(rig.all->request.host.s, "a.example");
	assert_true(rig.all->x.up.ended);
	answer(rig.all, 200);
	rig.all->x.down.ended = true;
	rig.codec->ops->resume_send(rig.codec, &rig.all->x);
	assert_false(rig.codec->ops->idle(rig.codec));
	collect();
	assert_true(find(HEADERS, 1).flags & END_STREAM);
	assert_true(rig.all->done);
	assert_true(rig.codec->ops->idle(rig.codec));
}

/* ---- Malformed: each costs its stream, and the next one works ---- */

#define GET_AT ":method", "GET", ":scheme", "https", ":path", "/"
#define GET    GET_AT, ":authority", "a.example"

static void test_malformed_requests(void **state)
{
	static const char *const rows[][24] = {
		{GET_AT},
		{GET, "connection", "close"},
		{GET, "transfer-encoding", "chunked"},
		{GET, "te", "gzip"},
		{GET, "Upper", "x"},
		{GET, "host", "b.example"},
		{GET_AT, ":authority", "u@a.example"},
		{GET, "x", "a\r\nb: c"},
		{GET, "x", "a\nb"},
		{GET, "x", " a"},
		{GET, "x\r\ny", "a"},
		{GET, "", "a"},
		{GET, "x", "a", ":path", "/"},
		{GET, ":path", "/b"},
		{GET, ":unknown", "x"},
		{":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a.example"},
		{":method", "GET", ":scheme", "https", ":path", "/ HTTP/1.1", ":authority",
		 "a.example"},
		{":method", "GET", ":scheme", "https", ":path", "", ":authority", "a.example"},
		{":method", "CONNECT", ":authority", "b.example:443"},
		{GET, "content-length", "1"},
		{GET, "content-length", "1", "content-length", "2"},
		{GET, "content-length", "-1"},
	};

	feed_well();
	for (uint32_t i = 0; i < sg_array_len(rows); i++) {
		rig.out.n = 0;
		wire_headers(&rig.in, 1 + 4 * i, END_STREAM, rows[i]);
		wire_get(&rig.in, 3 + 4 * i);
		feed_well();
		assert_reset(1 + 4 * i, PROTOCOL);
		assert_non_null(rig.codec->why);
		assert_false(has(RST_STREAM, 3 + 4 * i));
		assert_int_equal(rig.n, i + 1);
	}
}

static void test_a_body_that_is_not_its_length(void **state)
{
	const char *const fields[] = {GET, "content-length", "3", NULL};

	wire_headers(&rig.in, 1, 0, fields);
	wire_frame(&rig.in, DATA, END_STREAM, 1, span_of("ab", 2));
	wire_headers(&rig.in, 3, 0, fields);
	wire_frame(&rig.in, DATA, 0, 3, span_of("abcd", 4));
	feed_well();
	assert_reset(1, PROTOCOL);
	assert_reset(3, PROTOCOL);
	for (struct stand_in *e = rig.all; e; e = e->next) {
		assert_int_equal(e->failed, CODEC_MALFORMED);
		assert_true(e->x.up.failed);
		assert_false(e->x.up.ended);
	}
}

static void test_trailers(void **state)
{
	const char *const good[] = {"x-sum", "7", NULL};
	const char *const bad[] = {"content-length", "7", NULL};

	wire_post(&rig.in, 1);
	wire_frame(&rig.in, DATA, 0, 1, span_of("ab", 2));
	wire_headers(&rig.in, 1, END_STREAM, good);
	feed_well();
	assert_true(rig.all->x.up.ended);
	assert_non_null(message_find(rig.all->x.up.trailers, "x-sum", NULL));
	wire_post(&rig.in, 3);
	wire_headers(&rig.in, 3, END_STREAM, bad);
	wire_post(&rig.in, 5);
	wire_headers(&rig.in, 5, 0, good);
	feed_well();
	assert_reset(3, PROTOCOL);
	assert_reset(5, PROTOCOL);
	assert_int_equal(rig.all->failed, CODEC_MALFORMED);
	assert_int_equal(rig.all->next->failed, CODEC_MALFORMED);
}

static void test_cookies_are_one_field(void **state)
{
	const char *const fields[] = {GET, "cookie", "a=1", "x", "y", "cookie", "b=2", NULL};
	const struct field *f;

	wire_headers(&rig.in, 1, END_STREAM, fields);
	feed_well();
	f = message_find(&rig.all->request, "cookie", NULL);
	assert_non_null(f);
	assert_true(span_equal(f->value, span_of_string("a=1; b=2")));
}

static void test_websocket(void **state)
{
	const char *const fields[] = {":method",    "CONNECT",	 ":protocol", "websocket",
				      ":scheme",    "https",	 ":path",     "/",
				      ":authority", "a.example", NULL};

	wire_headers(&rig.in, 1, 0, fields);
	feed_well();
	assert_true(rig.all->x.connect);
	assert_false(rig.all->x.up.ended);
	answer(rig.all, 101);
	assert_true(rig.all->x.opaque);
	assert_true(body_put(&rig.all->x.down, span_of("hello", 5)));
	rig.codec->ops->resume_send(rig.codec, &rig.all->x);
	rig.hold = true;
	wire_frame(&rig.in, DATA, 0, 1, span_of("hi", 2));
	feed_well();
	assert_int_equal(rig.all->x.up.n, 2);
	assert_false(find(HEADERS, 1).flags & END_STREAM);
	assert_memory_equal(find(DATA, 1).payload.p, "hello", 5);
}

/* ---- 100-continue, 1xx ---- */

static unsigned count(uint8_t type, uint32_t id)
{
	struct reader r = reader_of(span_of(rig.out.p, rig.out.n));
	struct wire_seen seen;
	unsigned n = 0;

	while (wire_next(&r, &seen))
		n += seen.type == type && seen.id == id;
	return n;
}

static void test_continue_comes_once_and_when_the_body_is_wanted(void **state)
{
	const char *const fields[] = {GET, "expect", "100-continue", NULL};
	struct exchange *x;

	rig.hold = true;
	wire_headers(&rig.in, 1, 0, fields);
	feed_well();
	x = &rig.all->x;
	assert_true(rig.all->request.expects_continue);
	assert_false(has(HEADERS, 1));
	rig.codec->ops->resume_receive(rig.codec, x);
	collect();
	assert_int_equal(count(HEADERS, 1), 1);
	answer(rig.all, 100); /* the server's, late */
	rig.codec->ops->resume_receive(rig.codec, x);
	answer(rig.all, 103);
	collect();
	assert_int_equal(count(HEADERS, 1), 2);
	x->down.ended = true;
	answer(rig.all, 200);
	collect();
	assert_int_equal(count(HEADERS, 1), 3);
}

/* ---- Refusing ---- */

static void test_a_request_that_nobody_takes(void **state)
{
	rig.refuse = true;
	wire_get(&rig.in, 1);
	feed_well();
	assert_reset(1, REFUSED);
	assert_true(rig.codec->ops->idle(rig.codec));
}

static void test_an_answer_from_within_the_request(void **state)
{
	rig.answer_at_once = true;
	wire_get(&rig.in, 1);
	feed_well();
	assert_true(find(HEADERS, 1).flags & END_STREAM);
	assert_true(rig.all->done);
}

static void test_a_body_that_nobody_wants(void **state)
{
	static uint8_t octets[16384];

	rig.hold = true;
	wire_post(&rig.in, 1);
	for (int i = 0; i < 3; i++)
		wire_frame(&rig.in, DATA, 0, 1, span_of(octets, sizeof(octets)));
	feed_well();
	rig.all->x.up.failed = true;
	answer(rig.all, 204);
	rig.codec->ops->resume_receive(rig.codec, &rig.all->x);
	collect();
	assert_true(find(HEADERS, 1).flags & END_STREAM);
	assert_reset(1, NO_ERROR);
	assert_true(rig.all->done);
	/* What was on its way is not an error. */
	wire_frame(&rig.in, DATA, 0, 1, span_of(octets, sizeof(octets)));
	feed_well();
}

static void test_a_cut_body_never_looks_whole(void **state)
{
	struct message m;

	wire_get(&rig.in, 1);
	feed_well();
	message_init(&m);
	m.status = 200;
	m.body = MESSAGE_BODY_LENGTH;
	m.length = 5;
	assert_true(body_put(&rig.all->x.down, span_of("abc", 3)));
	rig.codec->ops->send_answer(rig.codec, &rig.all->x, &m);
	collect();
	rig.all->x.down.ended = true; /* and it is shorter than was said */
	rig.codec->ops->resume_send(rig.codec, &rig.all->x);
	collect();
	assert_reset(1, 2 /* INTERNAL_ERROR */);
	assert_int_equal(rig.all->failed, CODEC_PEER);
}

static void test_reset(void **state)
{
	static const struct {
		enum codec_error why;
		uint32_t code;
	} rows[] = {
		{CODEC_OK, NO_ERROR},	{CODEC_MALFORMED, PROTOCOL}, {CODEC_PEER, 8},
		{CODEC_RETRY, REFUSED}, {CODEC_NO_MEMORY, 2},	     {CODEC_FLOOD, CALM},
	};

	feed_well();
	for (uint32_t i = 0; i < sg_array_len(rows); i++) {
		wire_post(&rig.in, 1 + 2 * i);
		feed_well();
		rig.codec->ops->reset(rig.codec, &rig.all->x, rows[i].why);
		assert_null(rig.all->x.client.stream);
		collect();
		assert_reset(1 + 2 * i, rows[i].code);
		assert_int_equal(rig.all->failed, CODEC_OK);
	}
	assert_true(rig.codec->ops->idle(rig.codec));
}

static void test_the_client_cuts(void **state)
{
	wire_post(&rig.in, 1);
	wire_frame(&rig.in, DATA, 0, 1, span_of("ab", 2));
	wire_u32_frame(&rig.in, RST_STREAM, 1, 8);
	feed_well();
	assert_int_equal(rig.all->failed, CODEC_PEER);
	assert_true(rig.all->x.up.failed);
	wire_post(&rig.in, 3);
	feed_well();
	assert_false(rig.codec->ops->receive_end(rig.codec));
	assert_int_equal(rig.all->failed, CODEC_PEER);
}

static void test_shut(void **state)
{
	wire_get(&rig.in, 1);
	feed_well();
	rig.codec->ops->shut(rig.codec);
	collect();
	assert_int_equal(wire_error(&rig.out, GOAWAY, 0), NO_ERROR);
	assert_false(rig.codec->finished);
	wire_get(&rig.in, 3);
	assert_int_equal(feed(0), CODEC_OK);
	assert_int_equal(rig.n, 1);
	rig.all->x.down.ended = true;
	answer(rig.all, 200);
	collect();
	assert_true(rig.all->done);
	assert_true(rig.codec->finished);
}

/* ---- Limits ---- */

static void test_a_head_that_is_too_large(void **state)
{
	static const char *fields[2 * (MESSAGE_FIELDS_MAX + 8)] = {GET};
	size_t n = 8;

	for (int i = 0; i <= MESSAGE_FIELDS_MAX; i++) {
		fields[n++] = "x";
		fields[n++] = "y";
	}
	fields[n] = NULL;
	wire_headers(&rig.in, 1, 0, fields);
	wire_frame(&rig.in, DATA, 0, 1, span_of("ab", 2));
	feed_well();
	assert_int_equal(rig.n, 0);
	assert_true(find(HEADERS, 1).flags & END_STREAM); /* 431, as curl sees it in tests/e2e */
	assert_reset(1, NO_ERROR);
	wire_get(&rig.in, 3);
	feed_well();
	assert_int_equal(rig.n, 1);
}

static void test_more_streams_than_were_offered(void **state)
{
	feed_well();
	wire_frame(&rig.in, SETTINGS, ACK, 0, span_of(NULL, 0));
	for (uint32_t i = 0; i < 128; i++)
		wire_get(&rig.in, 1 + 2 * i);
	feed_well();
	assert_int_equal(rig.n, 128);
	wire_get(&rig.in, 257);
	feed(0);
	assert_int_equal(rig.n, 128);
	assert_goaway(PROTOCOL);
	for (struct stand_in *e = rig.all; e; e = e->next)
		assert_int_equal(e->failed, CODEC_MALFORMED);
}

/* Before the client knows the number it may try again. */
static void test_more_streams_than_it_could_know(void **state)
{
	feed_well();
	for (uint32_t i = 0; i < 129; i++)
		wire_get(&rig.in, 1 + 2 * i);
	feed_well();
	assert_int_equal(rig.n, 128);
	assert_reset(257, REFUSED);
}

static void test_rapid_reset(void **state)
{
	unsigned cut = 0;

	feed_well();
	for (uint32_t id = 1; id < 4000 && cut == 0; id += 2) {
		wire_get(&rig.in, id);
		wire_u32_frame(&rig.in, RST_STREAM, id, 8);
		if (feed(0) == CODEC_FLOOD)
			cut = id;
	}
	assert_in_range(cut, 1000, 1300);
	assert_goaway(CALM);
}

/* The same, where the client makes the server do the resetting (CVE-2025-8671). */
static void test_made_to_reset(void **state)
{
	uint32_t id = 1;

	feed_well();
	for (; id < 4000 && !rig.codec->finished; id += 2) {
		wire_post(&rig.in, id);
		wire_u32_frame(&rig.in, WINDOW_UPDATE, id, 0x7fffffff);
		feed(0);
	}
	assert_in_range(id, 1000, 1300);
	assert_goaway(CALM);
}

static void test_malformed_without_end(void **state)
{
	const char *const fields[] = {GET, "connection", "close", NULL};
	uint32_t id = 1;

	feed_well();
	for (; id < 4000 && feed(0) == CODEC_OK && !rig.codec->finished; id += 2)
		wire_headers(&rig.in, id, END_STREAM, fields);
	assert_in_range(id, 1000, 1300);
	assert_goaway(CALM);
}

/* How many of a frame the connection bears; then it is gone. */
static unsigned bears(uint8_t type, uint8_t flags, uint32_t id, struct span payload)
{
	unsigned n = 0;

	while (n < 100000 && !rig.codec->finished) {
		wire_frame(&rig.in, type, flags, id, payload);
		feed(0);
		rig.out.n = rig.codec->finished ? rig.out.n : 0;
		n++;
	}
	assert_goaway(CALM);
	return n;
}

static void test_flood_of_ping(void **state)
{
	feed_well();
	assert_in_range(bears(PING, 0, 0, span_of("12345678", 8)), 900, 1200);
}

static void test_flood_of_settings(void **state)
{
	feed_well();
	assert_in_range(bears(SETTINGS, 0, 0, span_of(NULL, 0)), 200, 300);
}

static void test_flood_of_empty_data(void **state)
{
	wire_post(&rig.in, 1);
	feed_well();
	assert_in_range(bears(DATA, 0, 1, span_of(NULL, 0)), 900, 1200);
}

static void test_flood_of_padding(void **state)
{
	wire_post(&rig.in, 1);
	feed_well();
	assert_in_range(bears(DATA, PADDED, 1, span_of("\0", 1)), 900, 1200);
}

static void test_flood_of_window_updates(void **state)
{
	feed_well();
	assert_in_range(bears(WINDOW_UPDATE, 0, 0, span_of("\0\0\0\1", 4)), 900, 1200);
}

static void test_flood_of_priorities(void **state)
{
	feed_well();
	assert_in_range(bears(PRIORITY, 0, 1, span_of("\0\0\0\0\1", 5)), 900, 1200);
}

static void test_flood_of_unknown_frames(void **state)
{
	feed_well();
	assert_in_range(bears(0xfa, 0, 0, span_of("x", 1)), 900, 1200);
}

static void test_flood_of_continuations(void **state)
{
	uint8_t block[64];
	struct buf b = buf_of(block, sizeof(block));
	unsigned n = 0;

	wire_field(&b, ":method", "GET");
	wire_frame(&rig.in, HEADERS, 0, 1, buf_span(&b));
	while (n < 1000 && feed(0) == CODEC_OK && !rig.codec->finished) {
		wire_frame(&rig.in, CONTINUATION, 0, 1, span_of(NULL, 0));
		n++;
	}
	assert_in_range(n, 8, 16);
	assert_goaway(CALM);
}

/* A few octets a field that stand for kilobytes (RFC 7541, 7.3). */
static void test_bomb(void **state)
{
	static uint8_t block[16384];
	static char value[3900];
	struct buf b = buf_of(block, sizeof(block));

	memset(value, 'v', sizeof(value));
	buf_put_u8(&b, 0x40); /* into the table */
	buf_put_u8(&b, 1);
	buf_put_text(&b, "x");
	buf_put(&b, "\x7f\xbd\x1d", 3); /* 127 + 3773 = 3900 */
	buf_put(&b, value, sizeof(value));
	while (b.n < 8000)
		buf_put_u8(&b, 0x80 | 62);
	wire_frame(&rig.in, HEADERS, END_HEADERS | END_STREAM, 1, buf_span(&b));
	assert_int_equal(feed(0), CODEC_FLOOD);
	assert_goaway(CALM);
	assert_int_equal(rig.n, 0);
}

/* ---- Noise that is none: it goes with work ---- */

static void test_pings_and_windows_beside_data(void **state)
{
	static uint8_t octets[1000];

	wire_post(&rig.in, 1);
	feed_well();
	for (int i = 0; i < 20000; i++) {
		wire_frame(&rig.in, DATA, 0, 1, span_of(octets, sizeof(octets)));
		if (i % 2)
			wire_frame(&rig.in, PING, 0, 0, span_of("12345678", 8));
		rig.out.n = 0;
		feed_well();
	}
	assert_int_equal(rig.all->x.up.passed, 20000 * sizeof(octets));
}

/* ---- Windows ---- */

static void test_the_window_is_opened_by_what_is_drained(void **state)
{
	static uint8_t octets[16384];
	struct body *up;

	rig.hold = true;
	feed_well();
	wire_frame(&rig.in, SETTINGS, ACK, 0, span_of(NULL, 0));
	wire_post(&rig.in, 1);
	for (int i = 0; i < 4; i++)
		wire_frame(&rig.in, DATA, 0, 1, span_of(octets, sizeof(octets)));
	feed_well();
	up = &rig.all->x.up;
	assert_int_equal(up->n, BODY_ROOM);
	rig.codec->ops->resume_receive(rig.codec, &rig.all->x);
	collect();
	assert_false(has(WINDOW_UPDATE, 1));
	body_take(up, BODY_ROOM - 1);
	rig.codec->ops->resume_receive(rig.codec, &rig.all->x);
	collect();
	assert_true(has(WINDOW_UPDATE, 1));
}

static void test_more_than_the_window(void **state)
{
	static uint8_t octets[16384];

	rig.hold = true;
	feed_well();
	wire_frame(&rig.in, SETTINGS, ACK, 0, span_of(NULL, 0));
	wire_post(&rig.in, 1);
	for (int i = 0; i < 4; i++)
		wire_frame(&rig.in, DATA, 0, 1, span_of(octets, sizeof(octets)));
	wire_frame(&rig.in, DATA, 0, 1, span_of(octets, 1));
	feed(0);
	assert_int_equal(wire_error(&rig.out, RST_STREAM, 1) == FLOW_CONTROL ||
				 wire_error(&rig.out, GOAWAY, 0) == FLOW_CONTROL,
			 1);
	assert_int_not_equal(rig.all->failed, CODEC_OK);
}

/* ---- Conformance (RFC 9113): one row a connection ---- */

static void breaks(const char *what, const struct wire *frames, uint32_t code)
{
	setup(NULL);
	memcpy(rig.in.p + rig.in.n, frames->p, frames->n);
	rig.in.n += frames->n;
	feed(0);
	if (wire_error(&rig.out, GOAWAY, 0) != code)
		fail_msg("%s: GOAWAY %d, not %d", what, (int)wire_error(&rig.out, GOAWAY, 0),
			 (int)code);
	assert_goaway(code);
	teardown(NULL);
}

static void test_faults_of_the_connection(void **state)
{
	static struct wire w;
	const uint8_t no_header = 0x80; /* HPACK: index 0 */

	teardown(NULL);
#define ROW(what, code, ...)            \
	do {                            \
		w.n = 0;                \
		__VA_ARGS__;            \
		breaks(what, &w, code); \
	} while (0)
	ROW("DATA on stream 0", PROTOCOL, wire_frame(&w, DATA, 0, 0, span_of("x", 1)));
	ROW("DATA on an idle stream", PROTOCOL, wire_frame(&w, DATA, 0, 1, span_of("x", 1)));
	ROW("HEADERS on stream 0", PROTOCOL, wire_get(&w, 0));
	ROW("HEADERS on an even stream", PROTOCOL, wire_get(&w, 2));
	ROW("HEADERS on a closed stream", STREAM_CLOSED, wire_get(&w, 1); wire_get(&w, 1));
	ROW("SETTINGS on a stream", PROTOCOL, wire_frame(&w, SETTINGS, 0, 1, span_of(NULL, 0)));
	ROW("SETTINGS of 5 octets", FRAME_SIZE,
	    wire_frame(&w, SETTINGS, 0, 0, span_of("12345", 5)));
	ROW("SETTINGS ACK with octets", FRAME_SIZE,
	    wire_frame(&w, SETTINGS, ACK, 0, span_of("123456", 6)));
	ROW("ENABLE_PUSH 2", PROTOCOL, wire_frame(&w, SETTINGS, 0, 0, span_of("\0\2\0\0\0\2", 6)));
	ROW("INITIAL_WINDOW_SIZE over 2^31-1", FLOW_CONTROL,
	    wire_frame(&w, SETTINGS, 0, 0, span_of("\0\4\x80\0\0\0", 6)));
	ROW("MAX_FRAME_SIZE under 2^14", PROTOCOL,
	    wire_frame(&w, SETTINGS, 0, 0, span_of("\0\5\0\0\0\1", 6)));
	ROW("PING on a stream", PROTOCOL, wire_frame(&w, PING, 0, 1, span_of("12345678", 8)));
	ROW("PING of 7 octets", FRAME_SIZE, wire_frame(&w, PING, 0, 0, span_of("1234567", 7)));
	ROW("GOAWAY on a stream", PROTOCOL, wire_frame(&w, GOAWAY, 0, 1, span_of("12345678", 8)));
	ROW("PRIORITY of 4 octets", FRAME_SIZE, wire_frame(&w, PRIORITY, 0, 1, span_of("1234", 4)));
	ROW("RST_STREAM on stream 0", PROTOCOL, wire_u32_frame(&w, RST_STREAM, 0, 1));
	ROW("RST_STREAM on an idle stream", PROTOCOL, wire_u32_frame(&w, RST_STREAM, 1, 1));
	ROW("RST_STREAM of 3 octets", FRAME_SIZE, wire_post(&w, 1);
	    wire_frame(&w, RST_STREAM, 0, 1, span_of("123", 3)));
	ROW("WINDOW_UPDATE of 3 octets", FRAME_SIZE,
	    wire_frame(&w, WINDOW_UPDATE, 0, 0, span_of("123", 3)));
	ROW("WINDOW_UPDATE by 0", PROTOCOL, wire_u32_frame(&w, WINDOW_UPDATE, 0, 0));
	ROW("WINDOW_UPDATE on an idle stream", PROTOCOL, wire_u32_frame(&w, WINDOW_UPDATE, 1, 1));
	ROW("a window over 2^31-1", FLOW_CONTROL, wire_u32_frame(&w, WINDOW_UPDATE, 0, 0x7fffffff));
	ROW("PUSH_PROMISE of a client", PROTOCOL, wire_post(&w, 1);
	    wire_frame(&w, PUSH_PROMISE, END_HEADERS, 1, span_of("\0\0\0\2", 4)));
	ROW("CONTINUATION without HEADERS", PROTOCOL,
	    wire_frame(&w, CONTINUATION, END_HEADERS, 1, span_of(NULL, 0)));
	ROW("another frame within a block", PROTOCOL,
	    wire_frame(&w, HEADERS, END_STREAM, 1, span_of(NULL, 0));
	    wire_frame(&w, PING, 0, 0, span_of("12345678", 8)));
	ROW("CONTINUATION on another stream", PROTOCOL,
	    wire_frame(&w, HEADERS, END_STREAM, 1, span_of(NULL, 0));
	    wire_frame(&w, CONTINUATION, END_HEADERS, 3, span_of(NULL, 0)));
	ROW("HPACK that is none", COMPRESSION,
	    wire_frame(&w, HEADERS, END_HEADERS | END_STREAM, 1, span_of(&no_header, 1)));
	ROW("more padding than octets", PROTOCOL, wire_post(&w, 1);
	    wire_frame(&w, DATA, PADDED, 1, span_of("\x09xy", 3)));
	ROW("a frame over 2^14", FRAME_SIZE, wire_post(&w, 1);
	    wire_frame(&w, DATA, 0, 1, span_of(rig.out.p, 16385)));
#undef ROW
	setup(NULL);
}

static void test_faults_of_a_stream(void **state)
{
	feed_well();
	wire_get(&rig.in, 1);
	wire_frame(&rig.in, DATA, 0, 1, span_of("x", 1)); /* after END_STREAM */
	feed(0);
	assert_true(wire_error(&rig.out, RST_STREAM, 1) == STREAM_CLOSED ||
		    wire_error(&rig.out, GOAWAY, 0) == STREAM_CLOSED);
}

static void test_what_is_to_be_ignored(void **state)
{
	wire_frame(&rig.in, 0x16, 0xff, 0, span_of("unknown", 7));
	wire_frame(&rig.in, PRIORITY, 0, 7, span_of("\0\0\0\3\xff", 5));
	wire_frame(&rig.in, SETTINGS, 0, 0, span_of("\x7f\x7f\0\0\0\1", 6)); /* unknown setting */
	wire_frame(&rig.in, PING, ACK, 0, span_of("12345678", 8));
	wire_get(&rig.in, 1);
	feed_well();
	assert_int_equal(rig.n, 1);
	rig.out.n = 0;
	wire_frame(&rig.in, PING, 0, 0, span_of("abcdefgh", 8));
	feed_well();
	assert_int_equal(find(PING, 0).flags, ACK);
	assert_memory_equal(find(PING, 0).payload.p, "abcdefgh", 8);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_settings),
		TEST(test_what_is_no_preface),
		TEST(test_a_request_however_it_is_cut),
		TEST(test_malformed_requests),
		TEST(test_a_body_that_is_not_its_length),
		TEST(test_trailers),
		TEST(test_cookies_are_one_field),
		TEST(test_websocket),
		TEST(test_continue_comes_once_and_when_the_body_is_wanted),
		TEST(test_a_request_that_nobody_takes),
		TEST(test_an_answer_from_within_the_request),
		TEST(test_a_body_that_nobody_wants),
		TEST(test_a_cut_body_never_looks_whole),
		TEST(test_reset),
		TEST(test_the_client_cuts),
		TEST(test_shut),
		TEST(test_a_head_that_is_too_large),
		TEST(test_more_streams_than_were_offered),
		TEST(test_more_streams_than_it_could_know),
		TEST(test_rapid_reset),
		TEST(test_made_to_reset),
		TEST(test_malformed_without_end),
		TEST(test_flood_of_ping),
		TEST(test_flood_of_settings),
		TEST(test_flood_of_empty_data),
		TEST(test_flood_of_padding),
		TEST(test_flood_of_window_updates),
		TEST(test_flood_of_priorities),
		TEST(test_flood_of_unknown_frames),
		TEST(test_flood_of_continuations),
		TEST(test_bomb),
		TEST(test_pings_and_windows_beside_data),
		TEST(test_the_window_is_opened_by_what_is_drained),
		TEST(test_more_than_the_window),
		TEST(test_faults_of_the_connection),
		TEST(test_faults_of_a_stream),
		TEST(test_what_is_to_be_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
