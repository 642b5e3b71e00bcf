/* SPDX-License-Identifier: Apache-2.0 */
/* Both roles back to back, between a client and a server that are nghttp2's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/http2.h"
#include "codec_relay.h"
#include "heap.h"
#include "http2_peer.h"

enum { STEP = 16 * 1024, MIB = 1024 * 1024, WIDE = 1 << 20 };

static struct {
	struct codec_relay relay;
	struct peer client, server;
	size_t most_held;
} rig;

static void open_windows(int32_t client, int32_t server)
{
	relay_open(&rig.relay, http2_server_new, http2_client_new);
	rig.relay.server->tls = true;
	peer_open(&rig.client, false, client);
	peer_open(&rig.server, true, server);
	rig.most_held = 0;
}

static int setup(void **state)
{
	open_windows(WIDE, WIDE);
	return 0;
}

static int teardown(void **state)
{
	relay_close(&rig.relay);
	peer_close(&rig.client);
	peer_close(&rig.server);
	return 0;
}

static bool move_in(struct peer *p, struct codec *c)
{
	struct span s = peer_produce(p, STEP);
	size_t taken;

	if (s.n == 0)
		return false;
	assert_int_equal(c->ops->receive(c, s, &taken), CODEC_OK);
	assert_int_equal(taken, s.n);
	return true;
}

static bool move_out(struct codec *c, struct peer *p)
{
	static uint8_t memory[STEP];
	struct buf out = buf_of(memory, sizeof(memory));

	if (c->ops->produce(c, &out) == 0)
		return false;
	peer_receive(p, buf_span(&out));
	return true;
}

static bool step(void)
{
	bool some = move_in(&rig.client, rig.relay.server);

	some = move_out(rig.relay.client, &rig.server) || some;
	some = move_in(&rig.server, rig.relay.client) || some;
	some = move_out(rig.relay.server, &rig.client) || some;
	if (relay_held(&rig.relay) > rig.most_held)
		rig.most_held = relay_held(&rig.relay);
	return some;
}

static void settle(void)
{
	while (step())
		;
}

static struct peer_stream *ask(const char *path, uint64_t octets, bool open)
{
	const char *const fields[] = {":method",    octets == UINT64_MAX ? "GET" : "POST",
				      ":scheme",    "https",
				      ":authority", "a.example",
				      ":path",	    path,
				      "te",	    "trailers",
				      NULL};

	return peer_request(&rig.client, fields, octets, open);
}

static struct peer_stream *get(const char *path)
{
	return ask(path, UINT64_MAX, false);
}

static void assert_has(const struct peer_stream *s, const char *text)
{
	if (!strstr(s->heads, text))
		fail_msg("no %s in:\n%s", text, s->heads);
}

static void assert_whole(const struct peer_stream *s)
{
	assert_true(s->closed);
	assert_int_equal(s->error, NGHTTP2_NO_ERROR);
	assert_false(s->corrupt);
	assert_false(rig.server.streams[(s->id - 1) / 2].corrupt);
}

static void assert_quiet(void)
{
	assert_null(rig.relay.exchanges);
	assert_true(rig.relay.server->ops->idle(rig.relay.server));
	assert_true(rig.relay.client->ops->idle(rig.relay.client));
	assert_int_equal(((struct http2 *)rig.relay.server)->pool, HTTP2_POOL);
	assert_int_equal(((struct http2 *)rig.relay.client)->pool, HTTP2_POOL);
}

/* ---- Bodies ---- */

static void test_bodies_of_many_sizes(void **state)
{
	static const uint64_t sizes[] = {0,	1,     2,     16383, 16384,  16385,
					 65535, 65536, 65537, 99999, 131073, 1000003};
	char path[32];

	for (size_t i = 0; i < sg_array_len(sizes); i++) {
		struct peer_stream *down, *up;

		snprintf(path, sizeof(path), "/octets/%llu", (unsigned long long)sizes[i]);
		down = get(path);
		up = ask("/count", sizes[i], false);
		settle();
		assert_whole(down);
		assert_int_equal(down->received, sizes[i]);
		snprintf(path, sizeof(path), "x-sum: %llu\n", (unsigned long long)sizes[i]);
		assert_has(down, path);
		assert_whole(up);
		snprintf(path, sizeof(path), "x-count: %llu\n", (unsigned long long)sizes[i]);
		assert_has(up, path);
		assert_quiet();
	}
	assert_int_equal(rig.relay.failures, 0);
}

/* A hundred megabytes each way at once; the growth is that of two bodies and two windows. */
static void test_hundred_megabytes_both_ways(void **state)
{
	const uint64_t n = 100u * 1000 * 1000;
	struct peer_stream *up, *down;
	size_t before, most = 0;

	settle();
	before = heap_in_use();
	up = ask("/count", n, false);
	down = get("/octets/100000000");
	while (step())
		most = heap_in_use() > most ? heap_in_use() : most;
	assert_whole(up);
	assert_whole(down);
	assert_has(up, "x-count: 100000000\n");
	assert_int_equal(down->received, n);
	assert_in_range(rig.most_held, 0, 2 * BODY_ROOM);
	assert_in_range(most - before, 1, MIB);
	assert_quiet();
}

/* The default window of most clients, where others stalled at 65,536 octets. */
static void test_small_windows(void **state)
{
	struct peer_stream *up, *down;

	teardown(NULL);
	open_windows(0, 0);
	up = ask("/count", 3 * MIB, false);
	down = get("/octets/3145728");
	settle();
	assert_whole(up);
	assert_whole(down);
	assert_int_equal(down->received, 3 * MIB);
	teardown(NULL);
	open_windows(100, 100);
	up = ask("/count", 30000, false);
	down = get("/octets/30000");
	settle();
	assert_whole(up);
	assert_int_equal(down->received, 30000);
}

/* An octet a window, without end, is work for nothing (CVE-2019-9511). */
static void test_a_client_that_dribbles(void **state)
{
	enum codec_error error = CODEC_OK;
	size_t taken;

	teardown(NULL);
	open_windows(1, WIDE);
	get("/octets/100000");
	do {
		struct span s = peer_produce(&rig.client, STEP);

		if (s.n)
			error = rig.relay.server->ops->receive(rig.relay.server, s, &taken);
		move_out(rig.relay.client, &rig.server);
		move_in(&rig.server, rig.relay.client);
		if (!move_out(rig.relay.server, &rig.client) && s.n == 0)
			break;
	} while (!error);
	assert_int_equal(error, CODEC_FLOOD);
	assert_in_range(rig.client.received, 400, 2000);
	while (move_out(rig.relay.server, &rig.client))
		;
	assert_int_equal(rig.client.goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
	assert_true(rig.relay.server->finished);
}

/* ---- Windows and memory ---- */

static void test_a_stream_that_is_not_drained_stops_no_other(void **state)
{
	struct peer_stream *stalled[90], *flowing;

	rig.client.hold = true;
	for (size_t i = 0; i < sg_array_len(stalled); i++)
		stalled[i] = get("/octets/5000000");
	settle();
	for (size_t i = 0; i < sg_array_len(stalled); i++)
		assert_false(stalled[i]->closed);
	/* The other way, past all that stand still. */
	flowing = ask("/count", 2 * MIB, false);
	settle();
	assert_whole(flowing);
	assert_has(flowing, "x-count: 2097152\n");
}

static void test_windows_grow_and_are_given_back(void **state)
{
	struct http2 *server = (struct http2 *)rig.relay.server;
	struct peer_stream *up = ask("/count", 20 * MIB, false);
	size_t least = HTTP2_POOL;

	while (step())
		least = server->pool < least ? server->pool : least;
	assert_whole(up);
	assert_int_equal(HTTP2_POOL - least, HTTP2_WINDOW_MAX - HTTP2_WINDOW);
	assert_quiet();
}

/* With a window of a MiB and a body of 64 KiB the rest waits in the stream, in its order. */
static void test_what_a_body_has_no_room_for(void **state)
{
	struct http2 *server = (struct http2 *)rig.relay.server;
	struct peer_stream *up = ask("/count", 20 * MIB, false);

	while (rig.server.received < 10 * MIB)
		assert_true(step());
	rig.server.hold = true;
	settle();
	assert_false(up->closed);
	assert_int_equal(server->n_streams, 1);
	/* A window is opened by halves. */
	assert_in_range(server->streams->outstanding, HTTP2_WINDOW_MAX / 2, HTTP2_WINDOW_MAX);
	assert_int_equal(server->streams->spill.n, server->streams->outstanding - BODY_ROOM);
	peer_release(&rig.server);
	settle();
	assert_whole(up);
	assert_has(up, "x-count: 20971520\n");
	assert_quiet();
}

/* Uploads on every stream that is offered, to a server that takes nothing. */
static void test_memory_of_a_stalled_connection(void **state)
{
	struct http2 *server;
	size_t before, grown;

	teardown(NULL);
	open_windows(WIDE, 1);
	server = (struct http2 *)rig.relay.server;
	rig.server.hold = true;
	settle();
	before = heap_in_use();
	for (int i = 0; i < 128; i++)
		ask("/count", 4 * MIB, false);
	settle();
	grown = heap_in_use() - before;
	print_message("128 stalled uploads: %zu KiB, of nghttp2 %zu KiB\n", grown / 1024,
		      server->memory / 1024);
	assert_in_range(rig.most_held, 100 * (BODY_ROOM - 1), 128 * BODY_ROOM);
	assert_in_range(server->memory, 1, HTTP2_MEMORY_MAX);
	assert_in_range(grown, 1, HTTP2_WINDOW_CONNECTION + 4 * MIB);
}

static void test_memory_of_a_quiet_connection(void **state)
{
	size_t before = heap_in_use(), each;
	struct codec *codecs[100];
	struct codec_events none = {0};

	for (size_t i = 0; i < sg_array_len(codecs); i++)
		codecs[i] = http2_server_new(&none, NULL);
	each = (heap_in_use() - before) / sg_array_len(codecs);
	print_message("a quiet connection: %zu KiB\n", each / 1024);
	assert_in_range(each, 1, 64 * 1024);
	for (size_t i = 0; i < sg_array_len(codecs); i++)
		codecs[i]->ops->free(codecs[i]);
}

/* ---- gRPC: four kinds of call, trailers, messages that are empty ---- */

static struct peer_stream *call(uint64_t octets, bool open, const char *path)
{
	const char *const fields[] = {":method",    "POST",	 ":scheme",	 "https",
				      ":authority", "a.example", ":path",	 path,
				      "te",	    "trailers",	 "content-type", "application/grpc",
				      NULL};

	return peer_request(&rig.client, fields, octets, open);
}

static void test_unary_call(void **state)
{
	struct peer_stream *s = call(5 /* an empty message */, false, "/echo");

	settle();
	assert_whole(s);
	assert_int_equal(s->received, 5);
	assert_has(s, "\n\ngrpc-status: 0\n");
	assert_has(&rig.server.streams[0], "te: trailers\n");
}

static void test_streams_in_both_directions(void **state)
{
	struct peer_stream *s = call(0, true, "/echo");

	settle();
	assert_has(s, ":status: 200\n"); /* before a message was sent */
	for (unsigned i = 1; i <= 100; i++) {
		peer_send(&rig.client, s, i % 3 ? 5 : 1000, false);
		settle();
		assert_int_equal(s->received, s->sent); /* at once, none is held back */
	}
	assert_false(s->closed);
	peer_send(&rig.client, s, 0, true);
	settle();
	assert_whole(s);
	assert_has(s, "grpc-status: 0\n");
}

static void test_stream_of_the_server_and_of_the_client(void **state)
{
	struct peer_stream *down = call(5, false, "/octets/50000"), *up = call(0, true, "/count");

	settle();
	assert_whole(down);
	assert_int_equal(down->received, 50000);
	for (int i = 0; i < 10; i++)
		peer_send(&rig.client, up, 5, i == 9);
	settle();
	assert_whole(up);
	assert_has(up, "x-count: 50\n");
}

static void test_a_call_that_is_refused_with_a_head_alone(void **state)
{
	struct peer_stream *s = call(5, false, "/trailers");

	settle();
	assert_whole(s);
	assert_has(s, "grpc-status: 12\n");
	assert_int_equal(s->received, 0);
}

/* ---- The rest ---- */

static void test_interim_answers(void **state)
{
	struct peer_stream *s = get("/interim");

	settle();
	assert_whole(s);
	assert_has(s, ":status: 103\nlink: </a>\n\n:status: 103\nlink: </a>\n\n:status: 200\n");
}

static void test_websocket(void **state)
{
	const char *const fields[] = {":method", "CONNECT", ":protocol",  "websocket",
				      ":scheme", "https",   ":authority", "a.example",
				      ":path",	 "/echo",   NULL};
	struct peer_stream *s;

	settle();
	s = peer_request(&rig.client, fields, 0, true);
	settle();
	assert_has(s, ":status: 200\n");
	assert_has(&rig.server.streams[0], ":protocol: websocket\n");
	for (int i = 0; i < 20; i++) {
		peer_send(&rig.client, s, 100, i == 19);
		settle();
		assert_int_equal(s->received, s->sent);
	}
	assert_whole(s);
	assert_quiet();
}

static void test_an_early_answer(void **state)
{
	struct peer_stream *s = ask("/early", 50 * MIB, false);

	settle();
	assert_has(s, ":status: 413\n");
	assert_true(s->in_ended);
}

static bool refuse(void *ctx, struct message *request)
{
	return !span_equal(request->path, span_of_string("/refused"));
}

static void test_a_refused_upload_costs_its_stream_alone(void **state)
{
	struct peer_stream *refused, *next;

	rig.relay.judge = refuse;
	refused = ask("/refused", 50 * MIB, false);
	next = ask("/count", 1000, false);
	settle();
	assert_has(refused, ":status: 403\n");
	assert_true(refused->closed && refused->in_ended);
	assert_int_equal(refused->error, NGHTTP2_NO_ERROR);
	assert_in_range(refused->sent, 0, WIDE);
	assert_whole(next);
	assert_int_equal(rig.server.closed, 1); /* the server never saw the other */
	assert_quiet();
}

static void test_many_requests_on_one_connection(void **state)
{
	unsigned at_once = 0;

	for (int i = 0; i < PEER_STREAMS - 1; i++) {
		get("/octets/100");
		if (++at_once == 120) {
			settle();
			at_once = 0;
		}
	}
	settle();
	assert_int_equal(rig.client.closed, PEER_STREAMS - 1);
	for (int i = 0; i < PEER_STREAMS - 1; i++)
		assert_int_equal(rig.client.streams[i].received, 100);
	assert_quiet();
}

static void test_more_than_the_server_takes_wait(void **state)
{
	settle(); /* the server has said 100 */
	for (int i = 0; i < 128; i++)
		ask("/echo", 0, true);
	settle();
	assert_int_equal(rig.relay.requests, 128);
	assert_int_equal(rig.server.streams[100].id, 0);
	for (int i = 0; i < 100; i++)
		peer_send(&rig.client, &rig.client.streams[i], 10, true);
	settle();
	for (int i = 100; i < 128; i++)
		peer_send(&rig.client, &rig.client.streams[i], 10, true);
	settle();
	for (int i = 0; i < 128; i++)
		assert_whole(&rig.client.streams[i]);
	assert_int_equal(rig.relay.failures, 0);
}

static void test_a_cut_answer_never_looks_whole(void **state)
{
	struct peer_stream *s = ask("/echo", 1000, true);

	settle();
	assert_int_equal(s->received, 1000);
	assert_false(rig.relay.client->ops->receive_end(rig.relay.client));
	settle();
	assert_true(s->closed);
	assert_int_not_equal(s->error, NGHTTP2_NO_ERROR);
	assert_false(s->in_ended);
}

static void test_the_client_goes(void **state)
{
	ask("/echo", 1000, true);
	settle();
	assert_false(rig.relay.server->ops->receive_end(rig.relay.server));
	settle();
	assert_true(rig.server.streams[0].closed);
	assert_int_equal(rig.server.streams[0].error, NGHTTP2_CANCEL);
	assert_null(rig.relay.exchanges);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bodies_of_many_sizes),
		TEST(test_hundred_megabytes_both_ways),
		TEST(test_small_windows),
		TEST(test_a_client_that_dribbles),
		TEST(test_a_stream_that_is_not_drained_stops_no_other),
		TEST(test_windows_grow_and_are_given_back),
		TEST(test_what_a_body_has_no_room_for),
		TEST(test_memory_of_a_stalled_connection),
		TEST(test_memory_of_a_quiet_connection),
		TEST(test_unary_call),
		TEST(test_streams_in_both_directions),
		TEST(test_stream_of_the_server_and_of_the_client),
		TEST(test_a_call_that_is_refused_with_a_head_alone),
		TEST(test_interim_answers),
		TEST(test_websocket),
		TEST(test_an_early_answer),
		TEST(test_a_refused_upload_costs_its_stream_alone),
		TEST(test_many_requests_on_one_connection),
		TEST(test_more_than_the_server_takes_wait),
		TEST(test_a_cut_answer_never_looks_whole),
		TEST(test_the_client_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
