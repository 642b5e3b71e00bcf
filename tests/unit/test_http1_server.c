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
#include "http/chunk.h"
#include "http1_probe.h"
#include "malformed_http.h"

/* ---- However it is cut, the same is told and sent ---- */

static struct outcome feed_in_all_ways(struct span stream, struct probe_way way)
{
	return probe_in_all_ways(probe_server, stream, way);
}

static void check(const char *stream, const char *told, const char *sent)
{
	struct outcome o = feed_in_all_ways(span_of_string(stream), (struct probe_way){0});

	assert_string_equal(o.told.p, told);
	assert_string_equal(o.sent.p ? o.sent.p : "", sent);
	assert_int_equal(o.error, CODEC_OK);
	assert_false(o.cut);
	outcome_free(&o);
}

#define OK_ANSWER	"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n"
#define OK_CLOSE_ANSWER "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nok\n"

/* ---- What passes ---- */

static void a_request_is_told_and_answered(void **state)
{
	check("GET /a%2fb?c=d HTTP/1.1\r\nHost: API.Example.com\r\nAccept:  */* \r\nX-Empty:\r\n\r\n",
	      "GET /a%2fb?c=d http://API.Example.com [api.example.com:80] none\n"
	      "\taccept */*\n\tx-empty \nbody 0: \ndone\n",
	      OK_ANSWER);
}

static void forms_of_targets_and_hosts(void **state)
{
	static const struct {
		const char *line, *host, *told;
	} rows[] = {
		{"GET / HTTP/1.1", "a.example", "GET / http://a.example [a.example:80]"},
		{"GET / HTTP/1.1", "a.example", "GET / https://a.example [a.example:443]"},
		{"GET / HTTP/1.1", "a.example:8443",
		 "GET / https://a.example:8443 [a.example:8443]"},
		{"GET / HTTP/1.1", "A.example.", "GET / http://A.example. [a.example:80]"},
		{"GET / HTTP/1.1", "203.0.113.7", "GET / http://203.0.113.7 [203.0.113.7:80]"},
		{"GET / HTTP/1.1", "[2001:db8::1]:81",
		 "GET / http://[2001:db8::1]:81 [2001:db8::1:81]"},
		{"GET http://a.example/x?y HTTP/1.1", "a.example:80",
		 "GET /x?y http://a.example:80 [a.example:80]"},
		{"GET https://a.example HTTP/1.1", "a.example",
		 "GET / https://a.example [a.example:443]"},
		{"GET HTTPS://a.example:443/ HTTP/1.1", "a.example",
		 "GET / https://a.example [a.example:443]"},
		{"OPTIONS * HTTP/1.1", "a.example", "OPTIONS * http://a.example [a.example:80]"},
		{"delete / HTTP/1.1", "a.example", "delete / http://a.example [a.example:80]"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[256], told[256];
		struct outcome o;

		snprintf(text, sizeof(text), "%s\r\nHost: %s\r\n\r\n", rows[i].line, rows[i].host);
		snprintf(told, sizeof(told), "%s none\nbody 0: \ndone\n", rows[i].told);
		o = feed_in_all_ways(span_of_string(text),
				     (struct probe_way){.tls = strstr(told, "https")});
		assert_string_equal(o.told.p, told);
		outcome_free(&o);
	}
}

static void pipelined_requests_are_told_one_by_one(void **state)
{
	check("POST /1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nGET /"
	      "DELETE /2 HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: Chunked\r\n\r\n"
	      "5;x=\"y\"\r\nGET /\r\n0A\r\n0123456789\r\n0;z\r\nX-Sum: 1\r\n\r\n"
	      "PUT /3 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n",
	      "POST /1 http://a.example [a.example:80] length 5\nbody 5: GET /\ndone\n"
	      "DELETE /2 http://a.example [a.example:80] stream\nbody 15: GET /0123456789\n"
	      "none\n\tx-sum 1\ndone\n"
	      "PUT /3 http://a.example [a.example:80] length 0\nbody 0: \ndone\n",
	      OK_ANSWER OK_ANSWER OK_ANSWER);
}

/* The next head is not even read before the answer is out. */
static void a_pipelined_request_waits_for_the_answer(void **state)
{
	static const char both[] = "GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n"
				   "GET /2 HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct outcome o =
		probe_server(span_of(both, sizeof(both) - 1), (struct probe_way){.at_once = true});
	const char *first = strstr(o.told.p, "/1"), *done = strstr(o.told.p, "done");

	assert_non_null(first);
	assert_true(first < done && done < strstr(o.told.p, "/2"));
	outcome_free(&o);
}

static void fields_of_the_hop_are_left_out(void **state)
{
	check("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, X-Hop ,x-other\r\n"
	      "X-Hop: 1\r\nConnection: x-third\r\nx-OTHER: 1\r\nX-Third: 1\r\nX-Kept: 1\r\n"
	      "Keep-Alive: 5\r\nProxy-Connection: keep-alive\r\n"
	      "Proxy-Authorization: Basic eA==\r\nTE: gzip;q=1, trailers\r\nTE: trailers\r\n"
	      "Upgrade: h2c\r\nHTTP2-Settings: AAM\r\nAuthorization: kept\r\nTrailer: x\r\n\r\n",
	      "GET / http://a.example [a.example:80] none\n\tx-kept 1\n\tte trailers\n"
	      "\tauthorization kept\n\ttrailer x\nbody 0: \ndone\n",
	      OK_ANSWER);
	check("GET / HTTP/1.1\r\nHost: a.example\r\nTE: gzip\r\nConnection: te\r\n\r\n",
	      "GET / http://a.example [a.example:80] none\nbody 0: \ndone\n", OK_ANSWER);
}

static void old_requests(void **state)
{
	struct outcome o;

	check("GET / HTTP/1.0\r\nHost: a.example\r\nConnection: keep-alive\r\n\r\n",
	      "GET / http://a.example [a.example:80] none\nbody 0: \ndone\n",
	      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: keep-alive\r\n\r\nok\n");
	check("GET http://a.example:81/ HTTP/1.0\r\nHost: a.example:81\r\n\r\n",
	      "GET / http://a.example:81 [a.example:81] none\nbody 0: \ndone\n", OK_CLOSE_ANSWER);
	o = probe_server(span_of_string("POST / HTTP/1.0\r\nHost: a.example\r\n"
					"Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx"),
			 (struct probe_way){0});
	assert_null(strstr(o.told.p, "expects"));
	assert_true(o.finished && !o.persistent);
	outcome_free(&o);
}

static void a_side_may_close(void **state)
{
	struct outcome o = feed_in_all_ways(
		span_of_string("GET /1 HTTP/1.1\r\nHost: a.example\r\nConnection: Close\r\n\r\n"
			       "GET /2 HTTP/1.1\r\nHost: a.example\r\n\r\n"),
		(struct probe_way){0});

	assert_string_equal(o.sent.p, OK_CLOSE_ANSWER);
	assert_null(strstr(o.told.p, "/2"));
	assert_true(o.finished && !o.persistent && !o.cut && o.idle);
	outcome_free(&o);
}

/* One request, in absolute form; what is pipelined behind it is not even told. */
static void a_proxy_is_asked_once(void **state)
{
	static const struct probe_way proxied = {.absolute = true};
	struct outcome o = feed_in_all_ways(
		span_of_string("GET http://a.example/1 HTTP/1.1\r\nHost: a.example\r\n"
			       "Proxy-Authorization: Basic eA==\r\n"
			       "Proxy-Connection: keep-alive\r\n\r\n"
			       "GET http://b.example/2 HTTP/1.1\r\nHost: b.example\r\n\r\n"),
		proxied);

	assert_string_equal(o.told.p,
			    "GET /1 http://a.example [a.example:80] none\nbody 0: \ndone\n");
	assert_string_equal(o.sent.p, OK_CLOSE_ANSWER);
	assert_true(o.finished && !o.persistent && !o.cut);
	outcome_free(&o);
}

static void a_proxy_is_asked_with_the_whole_address(void **state)
{
	static const char *const lines[] = {
		"GET / HTTP/1.1", "OPTIONS * HTTP/1.1", "GET //a.example/ HTTP/1.1",
		"GET https://a.example/ HTTP/1.1", "GET http://b.example/ HTTP/1.1"};

	for (size_t i = 0; i < sg_array_len(lines); i++) {
		char text[128];
		struct outcome o;

		snprintf(text, sizeof(text), "%s\r\nHost: a.example\r\n\r\n", lines[i]);
		o = feed_in_all_ways(span_of_string(text), (struct probe_way){.absolute = true});
		assert_int_equal(strncmp(o.sent.p, "HTTP/1.1 400 ", 13), 0);
		assert_null(o.told.p && o.told.n ? o.told.p : NULL);
		outcome_free(&o);
	}
}

static void a_client_may_end_after_its_request(void **state)
{
	struct outcome o = probe_server(span_of_string("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"),
					(struct probe_way){.ends = true});

	assert_non_null(strstr(o.told.p, "end 1\n"));
	assert_true(o.finished && !o.cut);
	outcome_free(&o);
}

static void a_client_that_ends_in_a_body_fails(void **state)
{
	static const char *const streams[] = {
		"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nabcd",
		"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n",
	};

	for (size_t i = 0; i < sg_array_len(streams); i++) {
		struct outcome o = feed_in_all_ways(span_of_string(streams[i]),
						    (struct probe_way){.ends = true});

		assert_non_null(strstr(o.told.p, "failed after 4: abcd\nfailed 4\nend 0\n"));
		assert_null(strstr(o.told.p, "body"));
		assert_false(o.persistent);
		outcome_free(&o);
	}
}

static void a_client_that_ends_in_a_head_ends_nothing(void **state)
{
	struct outcome o = probe_server(span_of_string("GET / HTTP/1.1\r\nHost: a"),
					(struct probe_way){.ends = true});

	assert_string_equal(o.told.p, "end 0\n");
	assert_true(o.finished && !o.persistent && o.sent.n == 0);
	outcome_free(&o);
}

/* ---- Refusals with a body that is not read ---- */

static void an_answer_before_the_body_closes(void **state)
{
	struct outcome o =
		probe_server(span_of_string("POST / HTTP/1.1\r\nHost: a.example\r\n"
					    "Content-Length: 41\r\n\r\n"
					    "GET /smuggled HTTP/1.1\r\nHost: b.example\r\n\r\n"
					    "GET /2 HTTP/1.1\r\nHost: a.example\r\n\r\n"),
			     (struct probe_way){.at_once = true, .step = 7});

	assert_string_equal(
		o.sent.p,
		"HTTP/1.1 403 Forbidden\r\ncontent-length: 3\r\nconnection: close\r\n\r\nno\n");
	assert_null(strstr(o.told.p, "smuggled"));
	assert_null(strstr(o.told.p, "/2"));
	assert_true(o.finished && !o.persistent);
	outcome_free(&o);
}

static void a_refusal_without_a_body_goes_on(void **state)
{
	struct outcome o = probe_server(span_of_string("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"),
					(struct probe_way){.at_once = true});

	assert_string_equal(o.sent.p, "HTTP/1.1 403 Forbidden\r\ncontent-length: 3\r\n\r\nno\n");
	assert_true(!o.finished && o.persistent);
	outcome_free(&o);
}

/* ---- WebSocket ---- */

static void websocket_becomes_opaque(void **state)
{
	struct outcome o = feed_in_all_ways(
		span_of_string("GET /chat HTTP/1.1\r\nHost: a.example\r\nUpgrade: WebSocket\r\n"
			       "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n"
			       "\r\n\r\nGET / HTTP/1.1\r\n\n"),
		(struct probe_way){.ends = true});

	assert_string_equal(o.told.p,
			    "GET /chat http://a.example [a.example:80] websocket none\n"
			    "\tsec-websocket-key k\nbody 21: \r\n\r\nGET / HTTP/1.1\r\n\n\n"
			    "end 1\ndone\n");
	assert_string_equal(o.sent.p, "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n"
				      "connection: upgrade\r\n\r\n");
	assert_true(o.finished && !o.persistent && !o.cut);
	outcome_free(&o);
}

/* RFC 9110, 7.8: the field alone says nothing. */
static void upgrade_without_connection_is_no_switch(void **state)
{
	check("GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n\r\n",
	      "GET / http://a.example [a.example:80] none\nbody 0: \ndone\n", OK_ANSWER);
}

/* ---- What is refused ---- */

static void check_refused(struct span stream, struct probe_way way, int status, int or_status)
{
	struct outcome o = feed_in_all_ways(stream, way);
	int got = o.sent.p && strncmp(o.sent.p, "HTTP/1.1 ", 9) == 0 ? atoi(o.sent.p + 9) : 0;

	if ((got != status && got != or_status) || o.told.n)
		fail_msg("%.*s: not %d but %s, told: %s", (int)stream.n, stream.p, status,
			 o.sent.p ? o.sent.p : "nothing", o.told.p ? o.told.p : "nothing");
	assert_non_null(strstr(o.sent.p, "\r\nconnection: close\r\n"));
	assert_non_null(strstr(o.sent.p, "\r\nsandgate-reason: malformed-http\r\n"));
	assert_non_null(strstr(o.sent.p, "\r\n\r\nsandgate: request: "));
	assert_true(o.finished && !o.persistent && !o.cut && o.idle && o.error);
	outcome_free(&o);
}

static void check_status(struct span stream, struct probe_way way, int status)
{
	check_refused(stream, way, status, status);
}

static void malformed_first_lines_are_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} rows[] = {
		{"\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{" GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /\r\n\r\n", 400}, /* HTTP/0.9 */
		{"GET / HTTP/1.1 \r\nHost: a.example\r\n\r\n", 400},
		{"GET / http/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET / HTTP/11\r\nHost: a.example\r\n\r\n", 400},
		{"GET / HTTP/1.x\r\nHost: a.example\r\n\r\n", 400},
		{"GET / HTTP/1.2\r\nHost: a.example\r\n\r\n", 505},
		{"GET / HTTP/0.9\r\nHost: a.example\r\n\r\n", 505},
		{"PRI * HTTP/2.0\r\n\r\n", 505},
		{"GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /  HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET\t/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /a b HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /\x01 HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /\x7f HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /a\rb HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /a\nb HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET /a#b HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET / HTTP/1.1\nHost: a.example\n\n", 400},
		{"GET * HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET http:///x HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET http://u@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"GET http://a.example:81/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"G(T / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400},
		{"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", 501},
		{"SSH-2.0-OpenSSH_9.2\r\n\r\n", 400},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++)
		check_status(span_of_string(rows[i].text), (struct probe_way){0}, rows[i].status);
	check_status(span_of("GET /\0 HTTP/1.1\r\n", 17), (struct probe_way){0}, 400);
	check_status(span_of_string("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"),
		     (struct probe_way){.tls = true}, 400);
}

#define HOST "Host: a.example\r\n"

/* The table below says which get 501. */
static void malformed_fields_are_refused(void **state)
{
	for (size_t i = 0; i < sg_array_len(malformed_fields); i++) {
		char text[512];

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", malformed_fields[i]);
		check_refused(span_of_string(text), (struct probe_way){0}, 400, 501);
	}
}

/* What the guard does not look at, since it passes on what it read. */
static void malformed_options_are_refused(void **state)
{
	static const char *const fields[] = {
		HOST "X: a\r\r\n",
		HOST "Connection: transfer-encoding\r\n",
		HOST "Connection: a b\r\n",
		HOST
		"Connection: a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a\r\n",
	};

	for (size_t i = 0; i < sg_array_len(fields); i++) {
		char text[512];

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", fields[i]);
		check_status(span_of_string(text), (struct probe_way){0}, 400);
	}
}

/* What another server might support has a status of its own. */
static void what_is_not_supported_is_refused(void **state)
{
	static const struct {
		const char *fields;
		int status;
	} rows[] = {
		{HOST "Transfer-Encoding: identity\r\n", 501},
		{HOST "Transfer-Encoding: chunked, identity\r\n", 501},
		{HOST "Transfer-Encoding: gzip, chunked\r\n", 501},
		{HOST "Transfer-Encoding: chunked, chunked\r\n", 501},
		{HOST "Transfer-Encoding: xchunked\r\n", 501},
		{HOST "Transfer-Encoding: chunked;q=1\r\n", 501},
		{HOST "Transfer-Encoding: \"chunked\"\r\n", 501},
		{HOST "Transfer-Encoding: chunked,\r\n", 501},
		{HOST "Transfer-Encoding: ,chunked\r\n", 501},
		{HOST "Transfer-Encoding:\r\n", 501},
		{HOST "Transfer-Encoding:\r\n chunked\r\n", 501},
		{HOST "Transfer-Encoding: \xc2\xa0"
		      "chunked\r\n",
		 501},
		{HOST "Expect: 200-ok\r\nContent-Length: 1\r\n", 417},
		{HOST "Expect:\r\n", 417},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[512];

		snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n%s\r\n", rows[i].fields);
		check_status(span_of_string(text), (struct probe_way){0}, rows[i].status);
	}
}

static void old_requests_are_refused_what_is_new(void **state)
{
	static const char *const texts[] = {
		"GET / HTTP/1.0\r\n\r\n",
		"GET http://a.example/ HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.0\r\n" HOST "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n",
	};

	for (size_t i = 0; i < sg_array_len(texts); i++)
		check_status(span_of_string(texts[i]), (struct probe_way){0}, 400);
}

static void malformed_chunks_fail_the_request(void **state)
{
	static const char head[] = "POST / HTTP/1.1\r\nHost: a.example\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	for (size_t i = 0; i < sg_array_len(malformed_chunks); i++) {
		char text[256];
		struct outcome o;

		snprintf(text, sizeof(text), "%s%s", head, malformed_chunks[i]);
		o = feed_in_all_ways(span_of_string(text), (struct probe_way){0});
		if (o.error != CODEC_MALFORMED || !strstr(o.told.p, "failed 1\n") ||
		    strstr(o.told.p, "body") || strncmp(o.sent.p, "HTTP/1.1 400 ", 13) != 0)
			fail_msg("%s: told %s sent %s", malformed_chunks[i], o.told.p, o.sent.p);
		assert_true(o.finished && !o.persistent && !o.cut);
		outcome_free(&o);
	}
}

/* The answer was begun: it cannot be taken back, so it is cut. */
static void a_malformed_body_behind_an_answer_cuts_it(void **state)
{
	struct outcome o = probe_server(span_of_string("POST / HTTP/1.1\r\nHost: a.example\r\n"
						       "Transfer-Encoding: chunked\r\n\r\nx\r\n"),
					(struct probe_way){.at_once = true});

	assert_true(o.cut && o.finished && !o.persistent);
	assert_int_equal(o.error, CODEC_MALFORMED);
	assert_int_equal(o.sent.n, 0);
	outcome_free(&o);
}

static void what_follows_a_request_must_be_one(void **state)
{
	static const char *const after[] = {"\r\n", "\n", "x\r\n\r\n", " \r\n\r\n", "\r\n\r\n"};

	for (size_t i = 0; i < sg_array_len(after); i++) {
		char text[256];
		struct outcome o;

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n%s",
			 after[i]);
		o = feed_in_all_ways(span_of_string(text), (struct probe_way){0});
		assert_int_equal(o.error, CODEC_MALFORMED);
		assert_true(strncmp(o.sent.p, OK_ANSWER "HTTP/1.1 400 ",
				    strlen(OK_ANSWER "HTTP/1.1 400 ")) == 0);
		outcome_free(&o);
	}
}

/* ---- Limits ---- */

/* A head with `fields` fields beside Host, and one more with `filler` octets if there are any. */
static struct text head_of(unsigned fields, size_t filler)
{
	struct text t = {0};

	text_printf(&t, "GET / HTTP/1.1\r\nHost: a.example\r\n");
	for (unsigned i = 0; i < fields; i++)
		text_printf(&t, "x%u: y\r\n", i);
	if (filler)
		text_printf(&t, "f: ");
	for (size_t i = 0; i < filler; i++)
		text_add(&t, "z", 1);
	text_printf(&t, filler ? "\r\n\r\n" : "\r\n");
	return t;
}

static void check_head(unsigned fields, size_t filler, int status)
{
	struct text head = head_of(fields, filler);

	for (size_t step = 0; step <= 1000; step += 500) {
		struct outcome o =
			probe_server(span_of(head.p, head.n), (struct probe_way){.step = step});

		assert_int_equal(atoi(o.sent.p + strlen("HTTP/1.1 ")), status);
		assert_int_equal(o.error, status == 200 ? CODEC_OK : CODEC_TOO_LARGE);
		outcome_free(&o);
	}
	text_free(&head);
}

static void heads_are_bounded(void **state)
{
	struct text empty = head_of(0, 1);
	size_t room = 65536 - (empty.n - 1);

	text_free(&empty);
	check_head(127, 0, 200);
	check_head(128, 0, 431);
	check_head(1000, 0, 431);
	check_head(0, room, 200);
	check_head(0, room + 1, 431);
	check_head(0, 1000000, 431);
}

static void targets_are_bounded(void **state)
{
	struct text t = {0};
	struct outcome o;

	text_printf(&t, "GET /");
	while (t.n < 70000)
		text_add(&t, "a", 1);
	o = probe_server(span_of(t.p, t.n), (struct probe_way){.step = 999});
	assert_true(strncmp(o.sent.p, "HTTP/1.1 414 ", 13) == 0);
	assert_true(o.finished);
	outcome_free(&o);
	text_free(&t);
}

static void lines_of_chunks_are_bounded(void **state)
{
	for (size_t n = HTTP_CHUNK_LINE_MAX - 1; n < HTTP_CHUNK_LINE_MAX + 4; n++) {
		struct text t = {0};
		struct outcome o;

		text_printf(&t, "POST / HTTP/1.1\r\nHost: a.example\r\n"
				"Transfer-Encoding: chunked\r\n\r\n0;");
		for (size_t i = 2; i < n; i++)
			text_add(&t, "a", 1);
		text_printf(&t, "\r\n\r\n");
		o = feed_in_all_ways(span_of(t.p, t.n), (struct probe_way){0});
		assert_int_equal(o.error, n > HTTP_CHUNK_LINE_MAX ? CODEC_MALFORMED : CODEC_OK);
		outcome_free(&o);
		text_free(&t);
	}
}

/* At once, and not only when the line ends. */
static void a_chunk_line_without_an_end_is_refused(void **state)
{
	struct text t = {0};
	struct outcome o;

	text_printf(&t,
		    "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n0;");
	while (t.n < 2000)
		text_add(&t, "a", 1);
	o = feed_in_all_ways(span_of(t.p, t.n), (struct probe_way){0});
	assert_int_equal(o.error, CODEC_MALFORMED);
	outcome_free(&o);
	text_free(&t);
}

/* ---- Bodies of answers that are not what their head said ---- */

static struct exchange *take_any(void *ctx, struct codec *c, struct message *m)
{
	return ctx;
}

static void ignore(struct exchange *x, struct codec *c)
{
}

static void ignore_failure(struct exchange *x, struct codec *c, enum codec_error why)
{
}

/* What comes out of an answer of three octets with this body. */
static struct text answer_three(struct body *down, bool *is_cut)
{
	static const struct codec_events events = {.request = take_any,
						   .body_filled = ignore,
						   .body_drained = ignore,
						   .failed = ignore_failure,
						   .done = ignore};
	struct exchange x = {.down = *down};
	struct codec *c = http1_server_new(&events, &x);
	struct message m = {.status = 200, .body = MESSAGE_BODY_LENGTH, .length = 3};
	uint8_t memory[256];
	struct buf out = buf_of(memory, sizeof(memory));
	struct text t = {0};
	size_t taken;

	assert_non_null(c);
	c->ops->receive(c, span_of_string("GET / HTTP/1.1\r\n" HOST "\r\n"), &taken);
	c->ops->send_answer(c, &x, &m);
	c->ops->produce(c, &out);
	text_add(&t, out.p, out.n);
	*is_cut = c->cut && c->finished && !c->persistent;
	c->ops->free(c);
	*down = x.down;
	return t;
}

static void a_body_that_is_not_as_long_as_was_said_is_cut(void **state)
{
	static const struct {
		const char *body;
		bool ended, failed, cut;
	} rows[] = {
		{"abc", true, false, false},  {"abc", false, false, false},
		{"ab", false, false, false},  {"abcd", true, false, true},
		{"abcd", false, false, true}, {"", true, false, true},
		{"ab", false, true, true},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct body down = {.ended = rows[i].ended, .failed = rows[i].failed};
		struct text t;
		bool is_cut;

		assert_true(body_put(&down, span_of_string(rows[i].body)));
		t = answer_three(&down, &is_cut);
		assert_int_equal(is_cut, rows[i].cut);
		assert_int_equal(strstr(t.p, "abc") != NULL, strlen(rows[i].body) == 3);
		text_free(&t);
		body_free(&down);
	}
}

static void trailers_are_bounded(void **state)
{
	for (unsigned n = 128; n <= 129; n++) {
		struct text t = {0};
		struct outcome o;

		text_printf(&t, "POST / HTTP/1.1\r\nHost: a.example\r\n"
				"Transfer-Encoding: chunked\r\n\r\n0\r\n");
		for (unsigned i = 0; i < n; i++)
			text_printf(&t, "x: y\r\n");
		text_printf(&t, "\r\n");
		o = feed_in_all_ways(span_of(t.p, t.n), (struct probe_way){0});
		assert_int_equal(o.error, n > 128 ? CODEC_MALFORMED : CODEC_OK);
		outcome_free(&o);
		text_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_told_and_answered),
		cmocka_unit_test(forms_of_targets_and_hosts),
		cmocka_unit_test(pipelined_requests_are_told_one_by_one),
		cmocka_unit_test(a_pipelined_request_waits_for_the_answer),
		cmocka_unit_test(fields_of_the_hop_are_left_out),
		cmocka_unit_test(old_requests),
		cmocka_unit_test(a_side_may_close),
		cmocka_unit_test(a_proxy_is_asked_once),
		cmocka_unit_test(a_proxy_is_asked_with_the_whole_address),
		cmocka_unit_test(a_client_may_end_after_its_request),
		cmocka_unit_test(a_client_that_ends_in_a_body_fails),
		cmocka_unit_test(a_client_that_ends_in_a_head_ends_nothing),
		cmocka_unit_test(an_answer_before_the_body_closes),
		cmocka_unit_test(a_refusal_without_a_body_goes_on),
		cmocka_unit_test(websocket_becomes_opaque),
		cmocka_unit_test(upgrade_without_connection_is_no_switch),
		cmocka_unit_test(malformed_first_lines_are_refused),
		cmocka_unit_test(malformed_fields_are_refused),
		cmocka_unit_test(malformed_options_are_refused),
		cmocka_unit_test(what_is_not_supported_is_refused),
		cmocka_unit_test(old_requests_are_refused_what_is_new),
		cmocka_unit_test(malformed_chunks_fail_the_request),
		cmocka_unit_test(a_malformed_body_behind_an_answer_cuts_it),
		cmocka_unit_test(what_follows_a_request_must_be_one),
		cmocka_unit_test(heads_are_bounded),
		cmocka_unit_test(targets_are_bounded),
		cmocka_unit_test(lines_of_chunks_are_bounded),
		cmocka_unit_test(a_chunk_line_without_an_end_is_refused),
		cmocka_unit_test(a_body_that_is_not_as_long_as_was_said_is_cut),
		cmocka_unit_test(trailers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
