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
#include "broker/http2_head.h"

enum { PAIRS = 16 };

static void fill(struct http2_block *b, const char *const *fields)
{
	http2_block_begin(b);
	for (; fields[0]; fields += 2)
		assert_true(http2_block_add(b, span_of_string(fields[0]), span_of_string(fields[1]),
					    false));
}

static const char *read_request(const char *const *fields, bool ends, struct message *m)
{
	struct http2_block b = {0};
	const char *why;

	message_init(m);
	fill(&b, fields);
	why = http2_head_read_request(&b, ends, m);
	http2_block_free(&b);
	return why;
}

static void assert_span(struct span s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	assert_memory_equal(s.p, text, s.n);
}

static void assert_field(const struct message *m, const char *name, const char *value)
{
	const struct field *f = message_find(m, name, NULL);

	if (!value) {
		assert_null(f);
		return;
	}
	assert_non_null(f);
	assert_span(f->value, value);
}

#define GET ":method", "GET", ":scheme", "https", ":authority", "a.example", ":path", "/"

static void test_request(void **state)
{
	const char *const fields[] = {":method",
				      "PUT",
				      ":scheme",
				      "https",
				      ":authority",
				      "A.example:8443",
				      ":path",
				      "/x%2fy?q=1",
				      "cookie",
				      "a=1",
				      "user-agent",
				      "curl",
				      "cookie",
				      "b=2",
				      "te",
				      "trailers",
				      "host",
				      "a.EXAMPLE:8443",
				      "content-length",
				      "5",
				      "expect",
				      "100-continue",
				      "proxy-authorization",
				      "Basic eA==",
				      "http2-settings",
				      "AAMAAABk",
				      NULL};
	struct message m;

	assert_null(read_request(fields, false, &m));
	assert_span(m.method, "PUT");
	assert_span(m.scheme, "https");
	assert_span(m.authority, "A.example:8443");
	assert_span(m.path, "/x%2fy?q=1");
	assert_true(m.has_host);
	assert_string_equal(m.host.s, "a.example");
	assert_int_equal(m.port, 8443);
	assert_int_equal(m.body, MESSAGE_BODY_LENGTH);
	assert_int_equal(m.length, 5);
	assert_true(m.expects_continue);
	assert_field(&m, "cookie", "a=1; b=2");
	assert_null(message_find(&m, "cookie", message_find(&m, "cookie", NULL)));
	assert_field(&m, "te", "trailers");
	assert_field(&m, "user-agent", "curl");
	assert_int_equal(m.n_fields, 3);
	message_free(&m);
}

static void test_bodies(void **state)
{
	static const struct {
		const char *length;
		bool ends;
		enum message_body body;
	} rows[] = {
		{NULL, true, MESSAGE_BODY_NONE},
		{NULL, false, MESSAGE_BODY_STREAM},
		{"0", true, MESSAGE_BODY_LENGTH},
		{"9223372036854775807", false, MESSAGE_BODY_LENGTH},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		const char *const fields[] = {GET, rows[i].length ? "content-length" : NULL,
					      rows[i].length, NULL};
		struct message m;

		assert_null(read_request(fields, rows[i].ends, &m));
		assert_int_equal(m.body, rows[i].body);
		message_free(&m);
	}
}

static void test_addresses_and_ports(void **state)
{
	const char *const fields[] = {":method",       "GET",	":scheme", "http", ":authority",
				      "[2001:db8::1]", ":path", "/",	   NULL};
	const char *const host_only[] = {":method", "OPTIONS", ":scheme",   "http", ":path",
					 "*",	    "host",    "b.example", NULL};
	char text[ADDR_TEXT_MAX];
	struct message m;

	assert_null(read_request(fields, true, &m));
	assert_false(m.has_host);
	assert_string_equal(addr_format(&m.address, text), "2001:db8::1");
	assert_int_equal(m.port, 80);
	message_free(&m);
	assert_null(read_request(host_only, true, &m));
	assert_span(m.authority, "b.example");
	assert_span(m.path, "*");
	message_free(&m);
}

static void test_websocket_is_what_it_is_in_http1(void **state)
{
	const char *const fields[] = {":method",    "CONNECT",	 ":protocol", "websocket",
				      ":scheme",    "https",	 ":path",     "/chat",
				      ":authority", "a.example", NULL};
	struct message m;

	assert_null(read_request(fields, false, &m));
	assert_span(m.method, "GET");
	assert_span(m.protocol, "websocket");
	assert_int_equal(m.body, MESSAGE_BODY_NONE);
	message_free(&m);
	assert_non_null(read_request(fields, true, &m));
	message_free(&m);
}

static void test_malformed_requests(void **state)
{
	static const struct {
		const char *fields[PAIRS * 2];
		const char *why;
	} rows[] = {
		{{":scheme", "https", ":authority", "a.example", ":path", "/"},
		 "the :method is not a word"},
		{{":method", "GE T", ":scheme", "https", ":authority", "a", ":path", "/"},
		 "the :method is not a word"},
		{{":method", "", ":scheme", "https", ":authority", "a", ":path", "/"},
		 "the :method is not a word"},
		{{":method", "GET", ":authority", "a.example", ":path", "/"},
		 "the :scheme is neither https nor http"},
		{{":method", "GET", ":scheme", "ftp", ":authority", "a.example", ":path", "/"},
		 "the :scheme is neither https nor http"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example"},
		 "there is no :path"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example", ":path", ""},
		 "there is no :path"},
		{{":method", "GET", ":scheme", "https", ":path", "/"}, "there is no host"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example", ":path", "x"},
		 "the :path does not begin with /"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example", ":path", "*"},
		 "the :path does not begin with /"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example", ":path",
		  "http://b/"},
		 "the :path does not begin with /"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example", ":path", "/a b"},
		 "the :path has a control character, a space or a fragment"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example", ":path", "/#x"},
		 "the :path has a control character, a space or a fragment"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example", ":path",
		  "/ HTTP/1.1\r\nx: y"},
		 "the value of a field has a control character"},
		{{":method", "GET", ":scheme", "https", ":authority", "u@a.example", ":path", "/"},
		 "the host has a user name before it"},
		{{":method", "GET", ":scheme", "https", ":authority", "a.example:0", ":path", "/"},
		 "the port of the host is not a number from 1 to 65535"},
		{{":method", "GET", ":scheme", "https", ":authority", "a_!.example", ":path", "/"},
		 "the host is not a host name"},
		{{":method", "GET", ":scheme", "https", ":authority", "0x7f.1", ":path", "/"},
		 "the host is not a host name"},
		{{":method", "GET", ":scheme", "https", ":authority", "", ":path", "/"},
		 "the host is empty"},
		{{GET, "host", "b.example"}, "the Host field is not the :authority"},
		{{GET, "host", "a.example:444"}, "the Host field is not the :authority"},
		{{GET, "host", "a.example", "host", "a.example"}, "there are two Host fields"},
		{{GET, ":path", "/b"}, "a pseudo-header field comes twice"},
		{{GET, "a", "b", ":foo", "c"}, "a pseudo-header field comes after other fields"},
		{{GET, ":foo", "c"}, "there is a pseudo-header field that does not belong here"},
		{{GET, ":status", "200"},
		 "there is a pseudo-header field that does not belong here"},
		{{GET, "X", "y"}, "the name of a field has an upper-case letter"},
		{{GET, "a b", "y"}, "the name of a field has a character it must not have"},
		{{GET, "", "y"}, "the name of a field has a character it must not have"},
		{{GET, "a:", "y"}, "the name of a field has a character it must not have"},
		{{GET, "a\r\nb", "y"}, "the name of a field has a character it must not have"},
		{{GET, "a", " y"}, "the value of a field has white space at an end"},
		{{GET, "a", "y\t"}, "the value of a field has white space at an end"},
		{{GET, "a", "b\r\nc: d"}, "the value of a field has a control character"},
		{{GET, "a", "b\nc"}, "the value of a field has a control character"},
		{{GET, "a", "b\rc"}, "the value of a field has a control character"},
		{{GET, "connection", "close"}, "a field belongs to connections of HTTP/1.1"},
		{{GET, "keep-alive", "1"}, "a field belongs to connections of HTTP/1.1"},
		{{GET, "proxy-connection", "x"}, "a field belongs to connections of HTTP/1.1"},
		{{GET, "transfer-encoding", "chunked"},
		 "a field belongs to connections of HTTP/1.1"},
		{{GET, "upgrade", "h2c"}, "a field belongs to connections of HTTP/1.1"},
		{{GET, "te", "gzip"}, "TE is something else than trailers"},
		{{GET, "te", "trailers, gzip"}, "TE is something else than trailers"},
		{{GET, "content_length", "5"}, "the name of a field imitates one that frames"},
		{{GET, "transfer_encoding", "x"}, "the name of a field imitates one that frames"},
		{{GET, "content-length", "5", "content-length", "5"},
		 "there are two Content-Length fields"},
		{{GET, "content-length", "+5"}, "the Content-Length is not a number below 2^63"},
		{{GET, "content-length", "5,5"}, "the Content-Length is not a number below 2^63"},
		{{GET, "content-length", "9223372036854775808"},
		 "the Content-Length is not a number below 2^63"},
		{{GET, "expect", "the-unexpected"},
		 "Expect asks for something else than 100-continue"},
		{{":method", "CONNECT", ":authority", "b.example:443"}, "CONNECT is for proxies"},
		{{":method", "CONNECT", ":scheme", "https", ":authority", "a", ":path", "/"},
		 "CONNECT is for proxies"},
		{{GET, ":protocol", "websocket"}, ":protocol comes without CONNECT"},
		{{":method", "CONNECT", ":protocol", "connect-udp", ":scheme", "https",
		  ":authority", "a", ":path", "/"},
		 "the :protocol is not websocket"},
		{{":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority",
		  "a", ":path", "/", "content-length", "1"},
		 "a request for WebSocket has a body, or ends"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct message m;
		const char *why = read_request(rows[i].fields, false, &m);

		if (!why || strcmp(why, rows[i].why) != 0)
			fail_msg("row %zu: %s, not: %s", i, why ? why : "accepted", rows[i].why);
		message_free(&m);
	}
}

static void test_a_nul_is_refused(void **state)
{
	const char *const fields[] = {GET, NULL};
	struct http2_block b = {0};
	struct message m;

	message_init(&m);
	fill(&b, fields);
	assert_true(http2_block_add(&b, span_of_string("a"), span_of("b\0c", 3), false));
	assert_string_equal(http2_head_read_request(&b, true, &m),
			    "the value of a field has a control character");
	http2_block_free(&b);
	message_free(&m);
}

/* ---- Answers ---- */

static const char *read_answer(const char *const *fields, bool ends, struct message *m)
{
	struct http2_block b = {0};
	const char *why;

	message_init(m);
	fill(&b, fields);
	why = http2_head_read_answer(&b, ends, m);
	http2_block_free(&b);
	return why;
}

static void test_answer(void **state)
{
	const char *const fields[] = {
		":status", "404",	 "alt-svc", "h3=\":443\"", "proxy-authenticate",
		"Basic",   "set-cookie", "a=1",	    "set-cookie",  "b=2",
		NULL};
	const char *const gone[] = {":status", "204", "content-length", "0", NULL};
	const char *const unchanged[] = {":status", "304", "content-length", "77", NULL};
	struct message m;

	assert_null(read_answer(fields, false, &m));
	assert_int_equal(m.status, 404);
	assert_int_equal(m.body, MESSAGE_BODY_STREAM);
	assert_field(&m, "alt-svc", NULL);
	assert_int_equal(m.n_fields, 2);
	message_free(&m);
	assert_null(read_answer(gone, true, &m));
	assert_int_equal(m.body, MESSAGE_BODY_NONE);
	message_free(&m);
	assert_null(read_answer(unchanged, true, &m));
	assert_int_equal(m.body, MESSAGE_BODY_LENGTH);
	assert_int_equal(m.length, 77);
	message_free(&m);
}

static void test_malformed_answers(void **state)
{
	static const struct {
		const char *fields[PAIRS];
		bool ends;
		const char *why;
	} rows[] = {
		{{"a", "b"}, false, "the :status is not a number from 100 to 599"},
		{{":status", "99"}, false, "the :status is not a number from 100 to 599"},
		{{":status", "600"}, false, "the :status is not a number from 100 to 599"},
		{{":status", "0200"}, false, "the :status is not a number from 100 to 599"},
		{{":status", "2 0"}, false, "the :status is not a number from 100 to 599"},
		{{":status", "101"}, false, "101 does not exist in HTTP/2"},
		{{":status", "103"}, true, "an answer ends with an interim status"},
		{{":status", "200", ":status", "200"}, false, "a pseudo-header field comes twice"},
		{{":status", "200", ":path", "/"},
		 false,
		 "there is a pseudo-header field that does not belong here"},
		{{":status", "200", "connection", "close"},
		 false,
		 "a field belongs to connections of HTTP/1.1"},
		{{":status", "200", "A", "b"},
		 false,
		 "the name of a field has an upper-case letter"},
		{{":status", "200", "a", "b\r\n\r\nHTTP/1.1 200 OK"},
		 false,
		 "the value of a field has a control character"},
		{{":status", "200", "content-length", "1", "content-length", "1"},
		 false,
		 "there are two Content-Length fields"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct message m;
		const char *why = read_answer(rows[i].fields, rows[i].ends, &m);

		if (!why || strcmp(why, rows[i].why) != 0)
			fail_msg("row %zu: %s, not: %s", i, why ? why : "accepted", rows[i].why);
		message_free(&m);
	}
}

static void test_trailers(void **state)
{
	static const struct {
		const char *fields[PAIRS];
		bool good;
	} rows[] = {
		{{"grpc-status", "0", "grpc-message", ""}, true},
		{{"content-length", "1"}, false},
		{{"transfer-encoding", "chunked"}, false},
		{{"host", "b.example"}, false},
		{{"authorization", "x"}, false},
		{{"cookie", "a=1"}, false},
		{{"set-cookie", "a=1"}, false},
		{{"proxy-authorization", "x"}, false},
		{{":status", "200"}, false},
		{{"A", "b"}, false},
		{{"a", "b\nc"}, false},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct http2_block b = {0};
		struct message m;
		const char *why;

		message_init(&m);
		fill(&b, rows[i].fields);
		why = http2_head_read_trailers(&b, &m);
		if (!why != rows[i].good)
			fail_msg("row %zu: %s", i, why ? why : "accepted");
		http2_block_free(&b);
		message_free(&m);
	}
}

/* ---- Limits ---- */

static void test_too_many_fields_and_octets(void **state)
{
	static char big[MESSAGE_HEAD_MAX];
	struct http2_block b = {0};
	size_t n = 0;

	http2_block_begin(&b);
	assert_true(http2_block_add(&b, span_of_string(":a"), span_of_string("b"), false));
	for (int i = 0; i < MESSAGE_FIELDS_MAX; i++)
		assert_true(http2_block_add(&b, span_of_string("a"), span_of_string("b"), false));
	assert_false(b.too_large);
	assert_int_equal(b.n_fields, MESSAGE_FIELDS_MAX + 1);
	assert_true(http2_block_add(&b, span_of_string("a"), span_of_string("b"), false));
	assert_true(b.too_large);
	http2_block_begin(&b);
	assert_true(http2_block_add(&b, span_of_string("a"), span_of(big, sizeof(big) - 1), false));
	assert_false(b.too_large);
	assert_true(http2_block_add(&b, span_of_string("a"), span_of_string(""), false));
	assert_true(b.too_large);
	while (http2_block_add(&b, span_of_string("a"), span_of(big, 4096), false))
		n++;
	assert_in_range(n, 40, 64);
	http2_block_free(&b);
}

static void test_what_is_sensitive_stays_so(void **state)
{
	const char *const fields[] = {":method",    "GET",	 ":scheme", "https",
				      ":authority", "a.example", NULL};
	struct http2_block b = {0};
	struct message m, copy;

	message_init(&m);
	fill(&b, fields);
	assert_true(http2_block_add(&b, span_of_string(":path"), span_of_string("/?key=k"), true));
	assert_true(http2_block_add(&b, span_of_string("a"), span_of_string("b"), false));
	assert_true(
		http2_block_add(&b, span_of_string("authorization"), span_of_string("x"), true));
	assert_true(http2_block_add(&b, span_of_string("cookie"), span_of_string("c=1"), true));
	assert_null(http2_head_read_request(&b, true, &m));
	assert_true(m.path_sensitive);
	assert_true(message_copy(&m, &copy));
	assert_true(copy.path_sensitive);
	message_free(&copy);
	assert_true(message_find(&m, "authorization", NULL)->sensitive);
	assert_true(message_find(&m, "cookie", NULL)->sensitive);
	assert_false(message_find(&m, "a", NULL)->sensitive);
	http2_block_free(&b);
	message_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_addresses_and_ports),
		cmocka_unit_test(test_websocket_is_what_it_is_in_http1),
		cmocka_unit_test(test_malformed_requests),
		cmocka_unit_test(test_a_nul_is_refused),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_malformed_answers),
		cmocka_unit_test(test_trailers),
		cmocka_unit_test(test_too_many_fields_and_octets),
		cmocka_unit_test(test_what_is_sensitive_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
