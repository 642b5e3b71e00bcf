/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gate/proxy_answer.h"
#include "gate/proxy_request.h"
#include "malformed_http.h"

/* All at once and octet by octet: the same comes of it. */
static enum proxy_asks read_whole(const char *text, struct proxy_request *r)
{
	size_t n = strlen(text);
	struct proxy_request stepped = {0};
	enum proxy_asks asks, last = PROXY_ASKS_MORE;

	*r = (struct proxy_request){0};
	asks = proxy_request_read(r, span_of(text, n));
	for (size_t i = 1; i <= n && last == PROXY_ASKS_MORE; i++) {
		uint8_t *exact = malloc(i); /* for AddressSanitizer */

		assert_non_null(exact);
		memcpy(exact, text, i);
		last = proxy_request_read(&stepped, span_of(exact, i));
		free(exact);
	}
	assert_int_equal(last, asks);
	assert_int_equal(stepped.status, r->status);
	assert_int_equal(stepped.octets, r->octets);
	assert_ptr_equal(stepped.why, r->why);
	return asks;
}

static const char *target_of(const struct proxy_request *r)
{
	static char text[300];
	char addr[ADDR_TEXT_MAX];

	snprintf(text, sizeof(text), "%s %u",
		 r->to.kind == HTTP_HOST_NAME ? r->to.name.s : addr_format(&r->to.addr, addr),
		 r->to.port);
	return text;
}

static void tunnels(void **state)
{
	static const struct {
		const char *line, *fields, *target;
	} rows[] = {
		{"CONNECT a.example:443 HTTP/1.1", "Host: a.example:443\r\n", "a.example 443"},
		{"CONNECT A.Example:443 HTTP/1.1", "Host: a.example:443\r\n", "a.example 443"},
		{"CONNECT a.example.:443 HTTP/1.1", "Host: a.example:443\r\n", "a.example 443"},
		{"CONNECT a.example:443 HTTP/1.1", "Host: a.example\r\n", "a.example 443"},
		{"CONNECT a.example:80 HTTP/1.1", "Host: a.example\r\n", "a.example 80"},
		{"CONNECT a.example:22 HTTP/1.0", "", "a.example 22"},
		{"CONNECT a.example:22 HTTP/1.0", "User-Agent: x\r\n", "a.example 22"},
		{"CONNECT 203.0.113.7:443 HTTP/1.1", "Host: 203.0.113.7:443\r\n",
		 "203.0.113.7 443"},
		{"CONNECT [2001:db8::1]:443 HTTP/1.1", "Host: [2001:db8::1]:443\r\n",
		 "2001:db8::1 443"},
		{"CONNECT a.example:443 HTTP/1.1",
		 "Host: a.example:443\r\nProxy-Authorization: Basic eA==\r\n"
		 "Proxy-Connection: Keep-Alive\r\nContent-Length: 0\r\n",
		 "a.example 443"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[512];
		struct proxy_request r;
		int n = snprintf(text, sizeof(text), "%s\r\n%s\r\n", rows[i].line, rows[i].fields);

		assert_int_equal(read_whole(text, &r), PROXY_ASKS_TUNNEL);
		assert_string_equal(target_of(&r), rows[i].target);
		assert_int_equal(r.octets, n);
	}
}

/* What comes with the head is the tunnel's, whatever it looks like. */
static void the_tunnel_begins_behind_the_head(void **state)
{
	static const char head[] = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n";
	static const char *const early[] = {"\x16\x03\x01", "\r\n",
					    "CONNECT b.example:443 HTTP/1.1\r\n\r\n"};

	for (size_t i = 0; i < sg_array_len(early); i++) {
		char text[256];
		struct proxy_request r;

		snprintf(text, sizeof(text), "%s%s", head, early[i]);
		assert_int_equal(read_whole(text, &r), PROXY_ASKS_TUNNEL);
		assert_int_equal(r.octets, sizeof(head) - 1);
	}
}

static void absolute_forms(void **state)
{
	static const struct {
		const char *line, *host, *target, *path;
	} rows[] = {
		{"GET http://a.example/x?y HTTP/1.1", "a.example", "a.example 80", "/x?y"},
		{"GET http://a.example HTTP/1.1", "a.example", "a.example 80", "/"},
		{"POST HTTP://A.example:8080/ HTTP/1.1", "a.example:8080", "a.example 8080", "/"},
		{"GET http://a.example/ HTTP/1.1", "a.example:80", "a.example 80", "/"},
		{"GET http://203.0.113.7/ HTTP/1.1", "203.0.113.7", "203.0.113.7 80", "/"},
		{"GET http://[2001:db8::1]:81/ HTTP/1.0", "[2001:db8::1]:81", "2001:db8::1 81",
		 "/"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[512];
		struct proxy_request r = {0};

		snprintf(text, sizeof(text), "%s\r\nHost: %s\r\nContent-Length: 9\r\n\r\n",
			 rows[i].line, rows[i].host);
		assert_int_equal(read_whole(text, &r), PROXY_ASKS_ABSOLUTE);
		assert_string_equal(target_of(&r), rows[i].target);
		assert_true(span_equal(r.head.path, span_of_string(rows[i].path)));
	}
}

static void check_wrong(const char *text, uint16_t status, const char *why)
{
	struct proxy_request r;
	enum proxy_asks asks = read_whole(text, &r);

	if (asks != PROXY_ASKS_WRONG || r.status != status || (why && !strstr(r.why, why)))
		fail_msg("%s\n%d, %u %s", text, asks, r.status, r.why ? r.why : "-");
}

static void what_is_wrong(void **state)
{
	static const struct {
		const char *line, *fields, *why;
	} rows[] = {
		{"CONNECT a.example HTTP/1.1", "Host: a.example\r\n", "HOST:PORT"},
		{"CONNECT a.example:0 HTTP/1.1", "Host: a.example:0\r\n", "1 to 65535"},
		{"CONNECT a.example:443/ HTTP/1.1", "Host: a.example:443\r\n", "1 to 65535"},
		{"CONNECT http://a.example:443 HTTP/1.1", "Host: a.example:443\r\n", ""},
		{"CONNECT u:p@a.example:443 HTTP/1.1", "Host: a.example:443\r\n", "user name"},
		{"CONNECT  HTTP/1.1", "Host: a.example\r\n", ""},
		{"CONNECT /a HTTP/1.1", "Host: a.example\r\n", ""},
		{"CONNECT a.example:443  HTTP/1.1", "Host: a.example:443\r\n", ""},
		{"CONNECT 0x7f.1:443 HTTP/1.1", "Host: 0x7f.1:443\r\n", "host name"},
		{"CONNECT 127.1:443 HTTP/1.1", "Host: 127.1:443\r\n", "host name"},
		{"CONNECT 2130706433:443 HTTP/1.1", "Host: 2130706433:443\r\n", "host name"},
		{"CONNECT fe80::1:443 HTTP/1.1", "Host: a.example:443\r\n", ""},
		{"CONNECT a.example:443 HTTP/1.1", "", "no Host"},
		{"CONNECT a.example:443 HTTP/1.1", "Host: b.example:443\r\n", "not the one"},
		{"CONNECT a.example:443 HTTP/1.1", "Host: a.example:80\r\n", "not the one"},
		{"CONNECT a.example:22 HTTP/1.1", "Host: a.example\r\n", "not the one"},
		{"CONNECT a.example:443 HTTP/1.1", "Host: a.example:443\r\nHost: a.example:443\r\n",
		 "two Host"},
		{"CONNECT a.example:443 HTTP/1.1", "Host: a.example:443\r\nContent-Length: 3\r\n",
		 "no body"},
		{"CONNECT a.example:443 HTTP/1.1",
		 "Host: a.example:443\r\nTransfer-Encoding: chunked\r\n", "no body"},
		{"GET / HTTP/1.1", "Host: a.example\r\n", "this is a proxy"},
		{"OPTIONS * HTTP/1.1", "Host: a.example\r\n", "this is a proxy"},
		{"GET https://a.example/ HTTP/1.1", "Host: a.example\r\n", "with CONNECT only"},
		{"GET HTTPS://a.example/ HTTP/1.1", "Host: a.example\r\n", "with CONNECT only"},
		{"GET ftp://a.example/ HTTP/1.1", "Host: a.example\r\n", "scheme"},
		{"GET a.example:443 HTTP/1.1", "Host: a.example\r\n", "scheme"},
		{"GET http://u:p@a.example/ HTTP/1.1", "Host: a.example\r\n", "user name"},
		{"GET http://a.example@b.example/ HTTP/1.1", "Host: b.example\r\n", "user name"},
		{"GET http://a.example/ HTTP/1.1", "Host: b.example\r\n", "not the one"},
		{"GET http:///x HTTP/1.1", "Host: a.example\r\n", "empty"},
		{"GET http://a.example/#x HTTP/1.1", "Host: a.example\r\n", "fragment"},
		{"PRI * HTTP/2.0", "", "HTTP/1.0 or HTTP/1.1"},
		{"G\xc3\x89T http://a.example/ HTTP/1.1", "Host: a.example\r\n", "word"},
	};
	char text[512];

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		snprintf(text, sizeof(text), "%s\r\n%s\r\n", rows[i].line, rows[i].fields);
		check_wrong(text, 400, rows[i].why);
	}
	check_wrong("\r\nCONNECT a.example:443 HTTP/1.1\r\n\r\n", 400, NULL);
	check_wrong("CONNECT a.example:443 HTTP/1.1\nHost: a.example:443\n\n", 400, "without CR");
	check_wrong(" CONNECT a.example:443 HTTP/1.1\r\n\r\n", 400, NULL);
	check_wrong("\x16\x03\x01\n", 400, NULL);
}

static void malformed_fields_are_wrong_in_both_forms(void **state)
{
	for (size_t i = 0; i < sg_array_len(malformed_fields); i++) {
		char text[8192];

		snprintf(text, sizeof(text), "GET http://a.example/ HTTP/1.1\r\n%s\r\n",
			 malformed_fields[i]);
		check_wrong(text, 400, NULL);
		snprintf(text, sizeof(text), "CONNECT a.example:80 HTTP/1.1\r\n%s\r\n",
			 malformed_fields[i]);
		check_wrong(text, 400, NULL);
	}
}

static void a_head_has_bounds(void **state)
{
	char *text = malloc(2 * HTTP_HEAD_MAX);
	struct proxy_request r;
	int n;

	assert_non_null(text);
	n = sprintf(text, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nX: ");
	memset(text + n, 'x', 2 * HTTP_HEAD_MAX - (size_t)n);
	r = (struct proxy_request){0};
	assert_int_equal(proxy_request_read(&r, span_of(text, HTTP_HEAD_MAX - 1)), PROXY_ASKS_MORE);
	assert_int_equal(proxy_request_read(&r, span_of(text, HTTP_HEAD_MAX)), PROXY_ASKS_WRONG);
	assert_int_equal(r.status, 431);
	n = sprintf(text, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n");
	for (int i = 0; i < HTTP_FIELDS_MAX; i++)
		n += sprintf(text + n, "X: x\r\n");
	sprintf(text + n, "\r\n");
	check_wrong(text, 431, "128 fields");
	free(text);
}

/* ---- What the client is told ---- */

static const char *print(const struct proxy_answer *a)
{
	static char text[PROXY_ANSWER_MAX + 1];
	struct buf b = buf_of(text, PROXY_ANSWER_MAX);

	proxy_answer_print(a, &b);
	assert_false(b.full);
	text[b.n] = 0;
	return text;
}

static void a_refusal_says_it_in_the_first_line_and_in_the_body(void **state)
{
	struct http_authority to = {.kind = HTTP_HOST_NAME, .port = 22};
	struct proxy_answer a = {.status = 403,
				 .to = &to,
				 .reason = REASON_PORT_NOT_ALLOWED,
				 .remedy = "sandgate net allow box site:a.example:22"};

	assert_int_equal(name_parse_ascii("a.example", 9, &to.name), NAME_OK);
	assert_string_equal(
		print(&a),
		"HTTP/1.1 403 sandgate: a.example:22: the policy allows the host, but not this "
		"port or protocol; to allow it: sandgate net allow box site:a.example:22\r\n"
		"Content-Type: text/plain\r\nContent-Length: 137\r\n"
		"sandgate-reason: port-not-allowed\r\nConnection: close\r\n\r\n"
		"sandgate: a.example:22: the policy allows the host, but not this port or "
		"protocol; to allow it: sandgate net allow box site:a.example:22\n");
}

static void the_longest_answer_fits(void **state)
{
	struct http_authority to = {.kind = HTTP_HOST_NAME, .port = 65535};
	char remedy[REMEDY_MAX];
	struct proxy_answer a = {.status = 403, .to = &to, .remedy = remedy};

	memset(remedy, 'x', sizeof(remedy));
	remedy[sizeof(remedy) - 1] = 0;
	memset(to.name.s, 'x', NAME_MAX_OCTETS);
	to.name.s[NAME_MAX_OCTETS] = 0;
	for (enum reason r = 0; r < REASONS; r++) {
		a.reason = r;
		assert_non_null(strstr(print(&a), "\r\n\r\nsandgate: "));
	}
}

static void failed_dials_are_told_apart(void **state)
{
	static const struct {
		int error;
		uint16_t status;
		enum socks_reply reply;
	} rows[] = {
		{ECONNREFUSED, 502, SOCKS_REFUSED},
		{ENETUNREACH, 502, SOCKS_NETWORK_UNREACHABLE},
		{EHOSTUNREACH, 502, SOCKS_HOST_UNREACHABLE},
		{ETIMEDOUT, 504, SOCKS_HOST_UNREACHABLE},
		{EMFILE, 502, SOCKS_FAILED},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		assert_int_equal(proxy_answer_to_dial(rows[i].error).status, rows[i].status);
		assert_int_equal(proxy_reply_to_dial(rows[i].error), rows[i].reply);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tunnels),
		cmocka_unit_test(the_tunnel_begins_behind_the_head),
		cmocka_unit_test(absolute_forms),
		cmocka_unit_test(what_is_wrong),
		cmocka_unit_test(malformed_fields_are_wrong_in_both_forms),
		cmocka_unit_test(a_head_has_bounds),
		cmocka_unit_test(a_refusal_says_it_in_the_first_line_and_in_the_body),
		cmocka_unit_test(the_longest_answer_fits),
		cmocka_unit_test(failed_dials_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
