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
#include "gate/http_guard.h"
#include "http/chunk.h"
#include "malformed_http.h"

/* ---- A client's stream, fed in steps ---- */

enum { REQUESTS_MAX = 16, STREAM_MAX = 200000 };

/* What came of a stream. */
struct outcome {
	enum http_event last; /* the event after which nothing more came */
	size_t passed;
	size_t n;
	struct {
		char method[HTTP_METHOD_MAX + 1];
		char path[64];
		char host[256];
		uint16_t port;
	} request[REQUESTS_MAX];
};

static void note_request(struct outcome *o, const struct http_request *r)
{
	size_t n = r->path.n < sizeof(o->request[0].path) ? r->path.n : 0;

	assert_true(o->n < REQUESTS_MAX);
	strcpy(o->request[o->n].method, r->method);
	if (n)
		memcpy(o->request[o->n].path, r->path.p, n);
	o->request[o->n].path[n] = 0;
	o->request[o->n].port = r->port;
	if (r->host == HTTP_HOST_NAME)
		strcpy(o->request[o->n].host, r->name.s);
	else if (r->host == HTTP_HOST_ADDRESS)
		addr_format(&r->addr, o->request[o->n].host);
	o->n++;
}

/* Feeds all that is there until nothing passes any more. */
static void feed_some(struct http_guard *g, const uint8_t *stream, size_t n, struct outcome *o)
{
	for (;;) {
		struct http_request request;
		size_t pass, left = n - o->passed;
		uint8_t *exact = malloc(left ? left : 1); /* for AddressSanitizer */

		assert_non_null(exact);
		memcpy(exact, stream + o->passed, left);
		o->last = http_guard_feed(g, span_of(exact, left), &request, &pass);
		assert_true(pass <= left);
		if (o->last == HTTP_REQUEST)
			note_request(o, &request);
		free(exact);
		o->passed += pass;
		if (pass == 0)
			return;
	}
}

/* The stream in reads of `step` octets. */
static struct outcome feed(struct span stream, size_t step)
{
	struct http_guard g = {0};
	struct outcome o = {0};
	size_t n = 0;

	do {
		n = n + step < stream.n ? n + step : stream.n;
		feed_some(&g, stream.p, n, &o);
	} while (n < stream.n);
	return o;
}

/* The outcome must not depend on how the stream is cut. */
static struct outcome feed_in_all_ways(struct span stream)
{
	struct outcome whole = feed(stream, stream.n);

	for (size_t step = 1; step < 9 && step < stream.n; step += 3) {
		struct outcome cut = feed(stream, step);

		assert_int_equal(cut.last, whole.last);
		assert_int_equal(cut.n, whole.n);
		assert_int_equal(cut.passed, whole.passed);
		assert_memory_equal(cut.request, whole.request, sizeof(cut.request));
	}
	return whole;
}

static struct outcome feed_text(const char *text)
{
	return feed_in_all_ways(span_of_string(text));
}

/* ---- What passes ---- */

static void a_request_is_told(void **state)
{
	const char *text = "GET /a/b?c=d HTTP/1.1\r\nHost: API.Example.com\r\nAccept: */*\r\n\r\n";
	struct outcome o = feed_text(text);

	assert_int_equal(o.last, HTTP_MORE);
	assert_int_equal(o.passed, strlen(text));
	assert_int_equal(o.n, 1);
	assert_string_equal(o.request[0].method, "GET");
	assert_string_equal(o.request[0].path, "/a/b?c=d");
	assert_string_equal(o.request[0].host, "api.example.com");
	assert_int_equal(o.request[0].port, 0);
}

static void hosts_are_canonical(void **state)
{
	static const char *const hosts[][3] = {
		{"a.example", "a.example", "0"},
		{"A.EXAMPLE.", "a.example", "0"},
		{"a.example:8080", "a.example", "8080"},
		{" \ta.example \t", "a.example", "0"},
		{"a_b.example", "a_b.example", "0"},
		{"203.0.113.7", "203.0.113.7", "0"},
		{"203.0.113.7:1", "203.0.113.7", "1"},
		{"[2001:db8::1]", "2001:db8::1", "0"},
		{"[2001:db8::1]:65535", "2001:db8::1", "65535"},
	};

	for (size_t i = 0; i < sg_array_len(hosts); i++) {
		char text[256];
		struct outcome o;

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost:%s\r\n\r\n", hosts[i][0]);
		o = feed_text(text);
		assert_int_equal(o.n, 1);
		assert_string_equal(o.request[0].host, hosts[i][1]);
		assert_int_equal(o.request[0].port, atoi(hosts[i][2]));
	}
}

static void every_request_of_a_connection_is_told(void **state)
{
	const char *text =
		"POST /1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nGET /"
		"DELETE /2 HTTP/1.1\r\nHost: b.example\r\nTransfer-Encoding: Chunked\r\n\r\n"
		"5;x=\"y\"\r\nGET /\r\n0A\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n"
		"PUT /3 HTTP/1.1\r\nHost: c.example\r\nContent-Length: 0\r\n\r\n"
		"OPTIONS * HTTP/1.1\r\nhost: d.example\r\n\r\n"
		"GET http://E.example/5?q HTTP/1.1\r\nHost: e.example\r\n\r\n"
		"GET http://f.example:80 HTTP/1.1\r\nHost: f.example\r\n\r\n"
		"GET /7 HTTP/1.0\r\n\r\n";
	static const char *const paths[] = {"/1", "/2", "/3", "*", "/5?q", "/", "/7"};
	struct outcome o = feed_text(text);

	assert_int_equal(o.last, HTTP_MORE);
	assert_int_equal(o.passed, strlen(text));
	assert_int_equal(o.n, sg_array_len(paths));
	for (size_t i = 0; i < o.n; i++)
		assert_string_equal(o.request[i].path, paths[i]);
	assert_string_equal(o.request[0].host, "a.example");
	assert_string_equal(o.request[4].host, "e.example");
	assert_string_equal(o.request[6].host, "");
}

static void old_absolute_forms_name_their_host(void **state)
{
	struct outcome o = feed_text("GET http://a.example:81/ HTTP/1.0\r\n\r\n");

	assert_int_equal(o.n, 1);
	assert_string_equal(o.request[0].host, "a.example");
	assert_int_equal(o.request[0].port, 81);
}

static void an_unfinished_head_passes_nothing(void **state)
{
	struct outcome o = feed_text("GET / HTTP/1.1\r\nHost: a.example\r\n\r");

	assert_int_equal(o.last, HTTP_MORE);
	assert_int_equal(o.passed, 0);
	assert_int_equal(o.n, 0);
}

static void bodies_can_be_passed_unread(void **state)
{
	static const char head[] = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: "
				   "9223372036854775807\r\n\r\n";
	struct http_guard g = {0};
	struct outcome o = {0};

	feed_some(&g, (const uint8_t *)head, strlen(head), &o);
	assert_int_equal(http_guard_unread(&g), INT64_MAX);
	http_guard_skip(&g, INT64_MAX - 3);
	assert_int_equal(http_guard_unread(&g), 3);
	o.passed = 0;
	feed_some(&g, (const uint8_t *)"abcGET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n", 40, &o);
	assert_int_equal(http_guard_unread(&g), 0);
	assert_int_equal(o.n, 2);
}

static void chunks_can_be_passed_unread(void **state)
{
	static const char head[] =
		"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n";
	struct http_guard g = {0};
	struct outcome o = {0};

	feed_some(&g, (const uint8_t *)head, strlen(head), &o);
	assert_int_equal(http_guard_unread(&g), 0xfffff);
	http_guard_skip(&g, 0xfffff);
	o.passed = 0;
	feed_some(&g, (const uint8_t *)"\r\n0\r\n\r\n", 7, &o);
	assert_int_equal(o.passed, 7);
	assert_int_equal(g.phase, HTTP_PHASE_HEAD);
}

/* ---- What is refused ---- */

struct bad {
	const char *text;
	enum http_event event;
};

static void check_bad(const struct bad *bad, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct outcome o = feed_text(bad[i].text);

		if (o.last != bad[i].event || o.n)
			fail_msg("event %d and not %d: %s", o.last, bad[i].event, bad[i].text);
	}
}

static void other_protocols_are_not_http(void **state)
{
	static const struct bad bad[] = {
		{"\x16\x03\x01", HTTP_NOT_HTTP},
		{"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", HTTP_NOT_HTTP},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP_NOT_HTTP},
		{"GET /\r\n", HTTP_NOT_HTTP}, /* HTTP/0.9 */
		{"GET / HTTP/1.1 \r\n", HTTP_NOT_HTTP},
		{"GET / HTTP/1.2\r\n", HTTP_NOT_HTTP},
		{"GET / http/1.1\r\n", HTTP_NOT_HTTP},
		{"\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n", HTTP_NOT_HTTP},
		{" GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", HTTP_NOT_HTTP},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJ", HTTP_NOT_HTTP},
		{"GET\t/ HTTP/1.1\r\n", HTTP_NOT_HTTP},
		{"CONNECT a.example:443 HTTP/1.1\r\n", HTTP_CONNECT},
	};

	check_bad(bad, sg_array_len(bad));
	assert_int_equal(feed(span_of("\0", 1), 1).last, HTTP_NOT_HTTP);
}

static void malformed_request_lines_are_refused(void **state)
{
	static const struct bad bad[] = {
		{"GET  / HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /  HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /a b HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /\ta HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /\x01 HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /\x7f HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /a#b HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /\ra HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET /\na HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET / HTTP/1.1\n", HTTP_MALFORMED},
		{"GET * HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET a.example/ HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET https://a.example/ HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET http:///x HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET http://a.example?q HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET http://u@a.example/ HTTP/1.1\r\n", HTTP_MALFORMED},
		{"GET http://u:p@a.example/ HTTP/1.1\r\n", HTTP_MALFORMED},
	};

	check_bad(bad, sg_array_len(bad));
	assert_int_equal(feed(span_of("GET /\0 HTTP/1.1\r\n", 17), 17).last, HTTP_MALFORMED);
}

/* Each stands between a request line and the end of its head. */
static void malformed_fields_are_refused(void **state)
{
	for (size_t i = 0; i < sg_array_len(malformed_fields); i++) {
		char text[512];
		struct outcome o;

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", malformed_fields[i]);
		o = feed_text(text);
		if (o.last != HTTP_MALFORMED || o.n || o.passed)
			fail_msg("accepted: %s", malformed_fields[i]);
	}
}

static void versions_bound_what_a_head_may_have(void **state)
{
	static const struct bad bad[] = {
		{"GET / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n",
		 HTTP_MALFORMED},
		{"GET / HTTP/1.0\r\nHost: a.example\r\nUpgrade: websocket\r\n\r\n", HTTP_MALFORMED},
		{"POST / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n\r\n",
		 HTTP_MALFORMED},
		{"GET http://a.example/ HTTP/1.1\r\n\r\n", HTTP_MALFORMED},
		{"GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n", HTTP_MALFORMED},
		{"GET http://a.example:81/ HTTP/1.1\r\nHost: a.example\r\n\r\n", HTTP_MALFORMED},
		{"GET http://1.1.1.1/ HTTP/1.1\r\nHost: a.example\r\n\r\n", HTTP_MALFORMED},
		{"GET http://a.example/ HTTP/1.0\r\nHost: b.example\r\n\r\n", HTTP_MALFORMED},
	};

	check_bad(bad, sg_array_len(bad));
}

static void malformed_chunks_are_refused(void **state)
{
	static const char head[] =
		"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked"
		"\r\n\r\n";
	for (size_t i = 0; i < sg_array_len(malformed_chunks); i++) {
		char text[256];
		struct outcome o;

		snprintf(text, sizeof(text), "%s%s", head, malformed_chunks[i]);
		o = feed_text(text);
		if (o.last != HTTP_MALFORMED || o.n != 1)
			fail_msg("accepted: %s", malformed_chunks[i]);
	}
}

static void what_follows_a_request_must_be_one(void **state)
{
	static const char *const after[] = {"\r\n", "x\r\n", "\x16", " ", "PRI * HTTP/2.0\r\n"};

	for (size_t i = 0; i < sg_array_len(after); i++) {
		char text[256];
		struct outcome o;

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n%s",
			 after[i]);
		o = feed_text(text);
		if (o.last != HTTP_MALFORMED || o.n != 1)
			fail_msg("accepted: %zu", i);
	}
}

/* ---- Limits ---- */

/* A head of `fields` fields with `filler` octets in one more. */
static struct outcome feed_large(unsigned fields, size_t filler, size_t step)
{
	char *text = malloc(STREAM_MAX);
	int n = snprintf(text, STREAM_MAX, "GET / HTTP/1.1\r\nHost: a.example\r\n");
	struct outcome o;

	assert_non_null(text);
	for (unsigned i = 1; i < fields; i++)
		n += snprintf(text + n, STREAM_MAX - (size_t)n, "X: y\r\n");
	if (filler) {
		n += snprintf(text + n, STREAM_MAX - (size_t)n, "Y: ");
		memset(text + n, 'y', filler);
		n += (int)filler;
		n += snprintf(text + n, STREAM_MAX - (size_t)n, "\r\n");
	}
	n += snprintf(text + n, STREAM_MAX - (size_t)n, "\r\n");
	o = feed(span_of(text, (size_t)n), step);
	free(text);
	return o;
}

/* The client can write to what it has sent (relay.c): by the end the beginning is another one. */
static void a_section_is_what_it_is_at_its_end(void **state)
{
	static const char head[] = "POST / HTTP/1.1\r\nHost: a.example\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	static const struct {
		const char *before, *seen, *changed, *after;
		enum http_event event;
	} cases[] = {
		{"", "GET / HTTP/1.1\r\nHost: a.example\r\nX: 1234567890",
		 "GET / HTTP/1.1\r\nHost: b.example\r\nX: 1234567890", "\r\n\r\n", HTTP_REQUEST},
		{"", "GET / HTTP/1.1\r\nHost: a.example\r\nX: 1234567890",
		 "GET / HTTP/1.1\r\nHost: a.example\r\nX: 123\n\n67890", "\r\n\r\n",
		 HTTP_MALFORMED},
		{"", "GET / HTTP/1.1\r\nHost: a.example\r\nX: 1234567890",
		 "GET / HTTP/1.1\r\nHost: a.example\r\nX: 1\r\n\r\n67890", "\r\n\r\n",
		 HTTP_MALFORMED},
		{"", "GET / HTTP/1.1\r\nHost: a.example\r\nX: 1234567890",
		 "GET / HTTP/1.1\r\nHost: a.example\r\nX: 12345\r\nY: ", "\r\n\r\n",
		 HTTP_MALFORMED},
		{"", "GET / HTTP/1.1\r\nHost: a.example\r\n\r",
		 "GET / HTTP/1.1\r\nHost: a.exampleXYZ", "\n", HTTP_MALFORMED},
		{head, "1;1234567890", "1;1234567890", "\r\nx\r\n", HTTP_BODY},
		{head, "1;1234567890", "1;12\r\nx\r\n0\r\n", "\r\nx\r\n", HTTP_MALFORMED},
		{head, "1;1234567890", "1;1\n34567890", "\r\nx\r\n", HTTP_MALFORMED},
		{head, "0\r\nX: 1234567890", "0\r\nX: 12\r\n\r\n7890", "\r\n\r\n", HTTP_MALFORMED},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		char text[256], later[256];
		struct http_guard g = {0};
		struct outcome o = {0};

		assert_int_equal(strlen(cases[i].seen), strlen(cases[i].changed));
		snprintf(text, sizeof(text), "%s%s", cases[i].before, cases[i].seen);
		snprintf(later, sizeof(later), "%s%s%s", cases[i].before, cases[i].changed,
			 cases[i].after);
		feed_some(&g, (const uint8_t *)text, strlen(text), &o);
		assert_int_equal(o.last, HTTP_MORE);
		feed_some(&g, (const uint8_t *)later, strlen(later), &o);
		assert_int_equal(g.phase == HTTP_PHASE_ENDED ? g.ended : HTTP_MORE,
				 cases[i].event == HTTP_MALFORMED ? HTTP_MALFORMED : HTTP_MORE);
		assert_int_equal(o.passed == strlen(later), cases[i].event != HTTP_MALFORMED);
		if (cases[i].event == HTTP_REQUEST)
			assert_string_equal(o.request[0].host, "b.example");
	}
}

static void heads_are_bounded(void **state)
{
	size_t frame = strlen("GET / HTTP/1.1\r\nHost: a.example\r\nY: \r\n\r\n");

	assert_int_equal(feed_large(128, 0, 1000).n, 1);
	assert_int_equal(feed_large(129, 0, 1000).last, HTTP_MALFORMED);
	assert_int_equal(feed_large(1, HTTP_HEAD_MAX - frame, 1000).n, 1);
	assert_int_equal(feed_large(1, HTTP_HEAD_MAX - frame + 1, 1000).last, HTTP_MALFORMED);
	assert_int_equal(feed_large(1, 2 * HTTP_HEAD_MAX, STREAM_MAX).last, HTTP_MALFORMED);
}

/* The gate looks at that many octets at most: with them the answer must be there. */
static void a_head_is_decided_with_the_octets_that_are_always_enough(void **state)
{
	static char text[HTTP_HEAD_MAX];
	size_t n = (size_t)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a.example\r\nX: ");

	memset(text + n, 'x', sizeof(text) - n);
	assert_int_equal(feed(span_of(text, sizeof(text) - 1), 5000).last, HTTP_MORE);
	assert_int_equal(feed(span_of(text, sizeof(text)), 5000).last, HTTP_MALFORMED);
}

static void chunk_extensions_are_bounded(void **state)
{
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: "
				    "chunked\r\n\r\n1;");

	memset(text + n, 'x', HTTP_CHUNK_LINE_MAX);
	memcpy(text + n + HTTP_CHUNK_LINE_MAX, "\r\nz", 3);
	assert_int_equal(feed(span_of(text, n + HTTP_CHUNK_LINE_MAX + 3), 5000).last,
			 HTTP_MALFORMED);
	assert_int_equal(feed(span_of(text, n + HTTP_CHUNK_LINE_MAX), 1).last, HTTP_MALFORMED);
}

/* ---- WebSocket ---- */

static const char websocket[] = "GET /chat HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\n"
				"Upgrade: WebSocket\r\n\r\n";

static void a_switch_waits_for_the_answer(void **state)
{
	static const uint8_t frame[] = {0x81, 0x80, 1, 2, 3, 4};
	struct http_guard g = {0};
	struct outcome o = {0};

	feed_some(&g, (const uint8_t *)websocket, strlen(websocket), &o);
	assert_int_equal(o.last, HTTP_HOLD);
	assert_int_equal(o.n, 1);
	o.passed = 0;
	feed_some(&g, frame, sizeof(frame), &o);
	assert_int_equal(o.passed, 0);
	http_guard_answered(&g, 101);
	feed_some(&g, frame, sizeof(frame), &o);
	assert_int_equal(o.passed, sizeof(frame));
	assert_true(http_guard_unread(&g) == UINT64_MAX);
}

static void without_a_switch_requests_go_on(void **state)
{
	static const char next[] = "GET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n";
	struct http_guard g = {0};
	struct outcome o = {0};

	feed_some(&g, (const uint8_t *)websocket, strlen(websocket), &o);
	http_guard_answered(&g, 426);
	o.passed = 0;
	feed_some(&g, (const uint8_t *)next, strlen(next), &o);
	assert_int_equal(o.n, 2);
	assert_string_equal(o.request[1].host, "b.example");
}

static void only_the_first_request_may_switch(void **state)
{
	char text[512];
	struct outcome o;

	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n%s", websocket);
	o = feed_text(text);
	assert_int_equal(o.last, HTTP_MALFORMED);
	assert_int_equal(o.n, 1);
}

/* Java's client asks every http server for it; after a switch its octets are no request. */
static void another_protocol_is_asked_for_in_vain(void **state)
{
	static const char h2c[] = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade, "
				  "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n";
	char text[512];
	struct outcome o = feed_text(h2c);

	assert_int_equal(o.last, HTTP_MORE);
	assert_int_equal(o.passed, strlen(h2c));
	snprintf(text, sizeof(text), "%sPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", h2c);
	assert_int_equal(feed_text(text).last, HTTP_MALFORMED);
}

/* ---- The server's answer ---- */

static void statuses_are_found(void **state)
{
	static const struct {
		const char *text;
		enum http_status_state state;
		unsigned status;
	} answers[] = {
		{"HTTP/1.1 200 OK\r\n", HTTP_STATUS_KNOWN, 200},
		{"HTTP/1.0 404", HTTP_STATUS_KNOWN, 404},
		{"HTTP/1.1 101 Switching Protocols\r\n", HTTP_STATUS_KNOWN, 101},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 x\r\n", HTTP_STATUS_KNOWN, 101},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 403 x\r\n",
		 HTTP_STATUS_KNOWN, 403},
		{"HTTP/1.1 100 Continue\r\nX: HTTP/1.1 101 x\r\n\r\nHTTP/1.1 200 x",
		 HTTP_STATUS_KNOWN, 200},
		{"HTTP/1.1 10", HTTP_STATUS_MORE, 0},
		{"HTTP/1.1 100 Continue\r\nHTTP/1.1 101 x\r\n", HTTP_STATUS_MORE, 0},
		{"HTTP/2 200", HTTP_STATUS_NOT_HTTP, 0},
		{"HTTP/1.1 1o1", HTTP_STATUS_NOT_HTTP, 0},
		{"SSH-2.0", HTTP_STATUS_NOT_HTTP, 0},
		{"HTTP/1.1 100 Continue\r\n\r\nx", HTTP_STATUS_NOT_HTTP, 0},
	};

	for (size_t i = 0; i < sg_array_len(answers); i++) {
		struct http_status s = {0};
		unsigned status = 0;
		enum http_status_state got = HTTP_STATUS_MORE;

		for (const char *c = answers[i].text; *c && got == HTTP_STATUS_MORE; c++)
			got = http_status_feed(&s, span_of(c, 1), &status);
		if (got != answers[i].state || status != answers[i].status)
			fail_msg("status %u: %s", status, answers[i].text);
		s = (struct http_status){0};
		got = http_status_feed(&s, span_of_string(answers[i].text), &status);
		assert_int_equal(got, answers[i].state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_told),
		cmocka_unit_test(hosts_are_canonical),
		cmocka_unit_test(every_request_of_a_connection_is_told),
		cmocka_unit_test(old_absolute_forms_name_their_host),
		cmocka_unit_test(an_unfinished_head_passes_nothing),
		cmocka_unit_test(bodies_can_be_passed_unread),
		cmocka_unit_test(chunks_can_be_passed_unread),
		cmocka_unit_test(other_protocols_are_not_http),
		cmocka_unit_test(malformed_request_lines_are_refused),
		cmocka_unit_test(malformed_fields_are_refused),
		cmocka_unit_test(versions_bound_what_a_head_may_have),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(what_follows_a_request_must_be_one),
		cmocka_unit_test(a_section_is_what_it_is_at_its_end),
		cmocka_unit_test(heads_are_bounded),
		cmocka_unit_test(a_head_is_decided_with_the_octets_that_are_always_enough),
		cmocka_unit_test(chunk_extensions_are_bounded),
		cmocka_unit_test(a_switch_waits_for_the_answer),
		cmocka_unit_test(without_a_switch_requests_go_on),
		cmocka_unit_test(only_the_first_request_may_switch),
		cmocka_unit_test(another_protocol_is_asked_for_in_vain),
		cmocka_unit_test(statuses_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
