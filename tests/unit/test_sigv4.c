/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known answers. "s3": the examples of "Authenticating Requests: Using the Authorization Header" in
 * the Amazon S3 API Reference. "service" and "iam": the test suite of Signature Version 4, and its
 * example in the IAM User Guide.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "broker/sigv4.h"

#define EMPTY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_SUITE   "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host;x-amz-date, Signature=0"

enum { IN_2013 = 1369353600 /* 20130524T000000Z */, IN_2015 = 1440938160 /* 20150830T123600Z */ };

struct known {
	const char *service, *method, *host, *path;
	const char *fields[12]; /* name, value, ... */
	const char *signature;
};

static void add(struct message *m, const char *name, const char *value)
{
	assert_true(message_add(m, span_of_string(name), span_of_string(value)));
}

static void begin(struct message *m, const struct known *k)
{
	message_init(m);
	m->method = span_of_string(k->method);
	m->scheme = span_of_string("https");
	assert_true(message_store(m, span_of_string(k->host), &m->authority));
	assert_true(message_store(m, span_of_string(k->path), &m->path));
	for (size_t i = 0; k->fields[i]; i += 2)
		add(m, k->fields[i], k->fields[i + 1]);
}

static const char *sign(struct message *m, const char *service, struct span body,
			const char *session)
{
	bool s3 = strcmp(service, "s3") == 0;
	struct sigv4_key key = {
		.id = span_of_string(s3 ? "AKIAIOSFODNN7EXAMPLE" : "AKIDEXAMPLE"),
		.secret = span_of_string(s3 ? "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
					    : "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
		.session = span_of_string(session),
		.region = "us-east-1",
		.service = service,
		.now = s3 ? IN_2013 : IN_2015,
	};
	static uint8_t room[65536];
	struct buf scratch = buf_of(room, sizeof(room));

	return sigv4_sign(m, &key, sigv4_signed_headers(m), body, &scratch);
}

static bool ends_with(struct span s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static void assert_signed(const struct message *m, const char *signature)
{
	const struct field *f = message_find(m, "authorization", NULL);

	assert_non_null(f);
	if (!ends_with(f->value, signature))
		fail_msg("%.*s\n  want %s", (int)f->value.n, (const char *)f->value.p, signature);
	assert_true(f->sensitive);
	assert_null(message_find(m, "authorization", f));
}

static void signatures_are_those_of_the_documents(void **state)
{
	static const struct known rows[] = {
		{"s3",
		 "GET",
		 "examplebucket.s3.amazonaws.com",
		 "/test.txt",
		 {"authorization",
		  "AWS4-HMAC-SHA256 Credential=x,SignedHeaders=host;range;x-amz-date", "range",
		  "bytes=0-9", "x-amz-content-sha256", EMPTY_HASH},
		 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"s3",
		 "PUT",
		 "examplebucket.s3.amazonaws.com",
		 "/test$file.text",
		 {"authorization", "AWS4-HMAC-SHA256 SignedHeaders=date;host, Signature=", "date",
		  "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class", "REDUCED_REDUNDANCY",
		  "x-amz-content-sha256",
		  "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
		 "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{"s3",
		 "GET",
		 "examplebucket.s3.amazonaws.com",
		 "/?lifecycle",
		 {NULL},
		 "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"s3",
		 "GET",
		 "examplebucket.s3.amazonaws.com",
		 "/?max-keys=2&prefix=J",
		 {NULL},
		 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
		{"iam",
		 "GET",
		 "iam.amazonaws.com",
		 "/?Action=ListUsers&Version=2010-05-08",
		 {"content-type", "application/x-www-form-urlencoded; charset=utf-8"},
		 "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
		{"service",
		 "GET",
		 "example.amazonaws.com",
		 "/",
		 {"authorization", OF_SUITE},
		 "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"service",
		 "GET",
		 "example.amazonaws.com",
		 "/example/..",
		 {NULL},
		 "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"service",
		 "GET",
		 "example.amazonaws.com",
		 "//",
		 {NULL},
		 "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"service",
		 "GET",
		 "example.amazonaws.com",
		 "/?Param2=value2&Param1=value1",
		 {NULL},
		 "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"service",
		 "POST",
		 "example.amazonaws.com",
		 "/",
		 {NULL},
		 "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct message m;

		begin(&m, &rows[i]);
		assert_null(sign(&m, rows[i].service, span_of("", 0), ""));
		assert_signed(&m, rows[i].signature);
		message_free(&m);
	}
}

/* The test suite's post-x-www-form-urlencoded: the body is hashed here. */
static void a_body_that_nobody_hashed_is_hashed(void **state)
{
	static const struct known k = {"service",
				       "POST",
				       "example.amazonaws.com",
				       "/",
				       {"content-type", "application/x-www-form-urlencoded"},
				       NULL};
	struct message m;

	begin(&m, &k);
	m.body = MESSAGE_BODY_LENGTH;
	m.length = 13;
	assert_int_equal(sigv4_payload_of(&m, "service"), SIGV4_PAYLOAD_WANTED);
	assert_null(sign(&m, "service", span_of_string("Param1=value1"), ""));
	assert_signed(&m, "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
	message_free(&m);
}

static void what_the_client_signed_of_a_body_is_kept(void **state)
{
	static const struct {
		const char *service, *said;
		enum message_body body;
		enum sigv4_payload payload;
	} rows[] = {
		{"s3", EMPTY_HASH, MESSAGE_BODY_STREAM, SIGV4_PAYLOAD_KNOWN},
		{"s3", "UNSIGNED-PAYLOAD", MESSAGE_BODY_STREAM, SIGV4_PAYLOAD_KNOWN},
		{"s3", NULL, MESSAGE_BODY_STREAM, SIGV4_PAYLOAD_KNOWN},
		{"s3", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", MESSAGE_BODY_STREAM,
		 SIGV4_PAYLOAD_KNOWN},
		{"s3", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", MESSAGE_BODY_STREAM,
		 SIGV4_PAYLOAD_UNSIGNABLE},
		{"s3", "anything", MESSAGE_BODY_STREAM, SIGV4_PAYLOAD_UNSIGNABLE},
		{"bedrock", EMPTY_HASH, MESSAGE_BODY_LENGTH, SIGV4_PAYLOAD_KNOWN},
		{"bedrock", NULL, MESSAGE_BODY_STREAM, SIGV4_PAYLOAD_WANTED},
		{"bedrock", NULL, MESSAGE_BODY_NONE, SIGV4_PAYLOAD_KNOWN},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct known k = {rows[i].service, "PUT", "b.example", "/x", {NULL}, NULL};
		struct message m;
		const char *why;

		begin(&m, &k);
		m.body = rows[i].body;
		m.length = 5;
		if (rows[i].said)
			add(&m, "x-amz-content-sha256", rows[i].said);
		assert_int_equal(sigv4_payload_of(&m, rows[i].service), rows[i].payload);
		why = sign(&m, rows[i].service, span_of("", 0), "");
		assert_int_equal(why != NULL, rows[i].payload == SIGV4_PAYLOAD_UNSIGNABLE);
		if (rows[i].payload == SIGV4_PAYLOAD_UNSIGNABLE)
			assert_non_null(strstr(why, "chunk by chunk"));
		else if (strcmp(rows[i].service, "s3") == 0)
			assert_true(span_equal(
				message_find(&m, "x-amz-content-sha256", NULL)->value,
				span_of_string(rows[i].said ? rows[i].said : "UNSIGNED-PAYLOAD")));
		message_free(&m);
	}
}

static void what_the_client_brought_is_set_anew(void **state)
{
	static const struct known k = {"service",
				       "GET",
				       "example.amazonaws.com",
				       "/",
				       {"x-amz-date", "20010101T000000Z", "x-amz-security-token",
					"theirs", "x_amz_security_token", "theirs"},
				       NULL};
	const struct field *f;
	struct message m;

	begin(&m, &k);
	assert_null(sign(&m, "service", span_of("", 0), "a-session-token"));
	f = message_find(&m, "x-amz-security-token", NULL);
	assert_true(span_equal(f->value, span_of_string("a-session-token")));
	assert_true(f->sensitive);
	assert_null(message_find(&m, "x-amz-security-token", f));
	assert_null(message_find(&m, "x_amz_security_token", NULL));
	f = message_find(&m, "x-amz-date", NULL);
	assert_true(span_equal(f->value, span_of_string("20150830T123600Z")));
	f = message_find(&m, "authorization", NULL);
	assert_non_null(memmem(f->value.p, f->value.n, "host;x-amz-date;x-amz-security-token", 36));
	message_free(&m);
}

/* One spelling or another of the same path is one text to the server, and has one signature. */
static void paths_are_read_as_the_server_reads_them(void **state)
{
	static const char *const pairs[][3] = {
		{"service", "/a%3Ab", "/a:b"},	    {"service", "/%61/", "/a/"},
		{"service", "/x/./a/../", "/x/"},   {"s3", "/a%20b", "/a b"},
		{"s3", "/?b=2&a=%31", "/?a=1&b=2"},
	};

	for (size_t i = 0; i < sg_array_len(pairs); i++) {
		struct message one, other;

		begin(&one, &(struct known){.method = "GET", .host = "h", .path = pairs[i][1]});
		begin(&other, &(struct known){.method = "GET", .host = "h", .path = pairs[i][2]});
		assert_null(sign(&one, pairs[i][0], span_of("", 0), ""));
		assert_null(sign(&other, pairs[i][0], span_of("", 0), ""));
		assert_true(span_equal(message_find(&one, "authorization", NULL)->value,
				       message_find(&other, "authorization", NULL)->value));
		message_free(&one);
		message_free(&other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures_are_those_of_the_documents),
		cmocka_unit_test(a_body_that_nobody_hashed_is_hashed),
		cmocka_unit_test(what_the_client_signed_of_a_body_is_kept),
		cmocka_unit_test(what_the_client_brought_is_set_anew),
		cmocka_unit_test(paths_are_read_as_the_server_reads_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
