/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a refusal, in the form of each client. Real clients show it in check_refusals.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/compiler.h"
#include "broker/refusal_text.h"
#include "request_of.h"

#define REMEDY "sandgate net allow demo github:push"
#define LINE                                                                                    \
	"sandgate: POST github.com/o/r: the permissions allow the host, but not this request; " \
	"permission github:push is for it (push); to allow it: " REMEDY

struct answered {
	struct message answer;
	struct body body;
	char text[REFUSAL_TEXT_MAX * 2]; /* of the body */
};

static const struct request_verdict push = {
	.what = REQUEST_REFUSED,
	.reason = REASON_OPERATION_NOT_ALLOWED,
	.permission = "github:push",
	.operation = "push",
	.remedy = REMEDY,
};

static void answer_to(const struct message *request, const struct request_verdict *v,
		      struct answered *out)
{
	struct span octets;

	memset(out, 0, sizeof(*out));
	message_init(&out->answer);
	assert_true(refusal_answer(request, v, &out->answer, &out->body));
	assert_true(out->body.ended);
	octets = body_peek(&out->body);
	assert_true(octets.n < sizeof(out->text));
	if (octets.n)
		memcpy(out->text, octets.p, octets.n);
	if (out->answer.body == MESSAGE_BODY_LENGTH)
		assert_int_equal(out->answer.length, octets.n);
	else
		assert_int_equal(octets.n, 0);
}

static void ask(const char *method, const char *host, const char *path, const char *fields,
		struct answered *out)
{
	struct message request;

	request_of(method, host, path, fields, &request);
	answer_to(&request, &push, out);
	message_free(&request);
}

static void forget(struct answered *a)
{
	message_free(&a->answer);
	body_free(&a->body);
}

static const char *field_of(const struct answered *a, const char *name)
{
	static char text[REFUSAL_TEXT_MAX];
	const struct field *f = message_find(&a->answer, name, NULL);

	assert_non_null(f);
	assert_null(message_find(&a->answer, name, f));
	snprintf(text, sizeof(text), "%.*s", (int)f->value.n, (const char *)f->value.p);
	return text;
}

static void expect(const struct answered *a, uint16_t status, const char *type)
{
	assert_int_equal(a->answer.status, status);
	assert_string_equal(field_of(a, "content-type"), type);
	assert_string_equal(field_of(a, "sandgate-reason"), "operation-not-allowed");
	assert_string_equal(field_of(a, "cache-control"), "no-store");
}

static void test_text(void **state)
{
	static const char *const agents[] = {
		"",
		"user-agent: curl/7.88.1\r\naccept: */*\r\n",
		"user-agent: Mozilla/5.0\r\naccept: text/html,application/json;q=0.9,*/*\r\n",
		"user-agent: pip/25\r\naccept: application/vnd.pypi.simple.v1+json, text/html;q=0.1\r\n",
	};
	struct answered a;

	for (size_t i = 0; i < sg_array_len(agents); i++) {
		ask("POST", "github.com", "/o/r?token=secret", agents[i], &a);
		expect(&a, 403, "text/plain; charset=utf-8");
		assert_string_equal(a.text, LINE "\n");
		assert_true(span_equal(a.answer.phrase, span_of_string(LINE)));
		forget(&a);
	}
}

static void test_git(void **state)
{
	struct answered a;
	unsigned length;

	ask("GET", "github.com", "/o/r/info/refs?service=git-receive-pack", "", &a);
	expect(&a, 403, "text/plain; charset=utf-8");
	forget(&a);
	ask("POST", "github.com", "/o/r/git-upload-pack", "content-length: 4\r\n", &a);
	expect(&a, 200, "application/x-git-upload-pack-result");
	assert_int_equal(sscanf(a.text, "%4x", &length), 1);
	assert_int_equal(length, strlen(a.text));
	assert_memory_equal(a.text + 4, "ERR sandgate: POST", 18);
	forget(&a);
	ask("POST", "github.com", "/o/r/git-receive-pack", "content-length: 4\r\n", &a);
	expect(&a, 200, "application/x-git-receive-pack-result");
	assert_int_equal(sscanf(a.text, "%4x", &length), 1);
	assert_int_equal(length, strlen(a.text) - 4);
	assert_memory_equal(a.text + 4, "\x03sandgate: POST", 15);
	assert_string_equal(a.text + length, "0000");
	forget(&a);
}

/* The string at a path of keys and places, each after a slash. */
static const char *at(const json_t *j, const char *path)
{
	char words[64], *rest = words;

	snprintf(words, sizeof(words), "%s", path);
	for (char *word = strsep(&rest, "/"); word; word = strsep(&rest, "/"))
		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(word))
				     : json_object_get(j, word);
	return json_string_value(j);
}

static void test_json(void **state)
{
	static const struct {
		const char *host, *path, *fields, *at;
	} clients[] = {
		{"npm.example", "/left-pad", "user-agent: npm/11.1.0 node/v22\r\n", "error"},
		{"npm.example", "/left-pad", "user-agent: pnpm/9\r\n", "error"},
		{"ghcr.io", "/v2/a/b/blobs/uploads/", "user-agent: docker/27\r\n",
		 "errors/0/message"},
		{"auth.docker.io", "/token?scope=x", "user-agent: docker/27\r\n", "details"},
		{"crates.io", "/api/v1/crates/new", "user-agent: cargo 1.80\r\n",
		 "errors/0/detail"},
		{"api.github.com", "/gists", "user-agent: curl\r\n", "message"},
		{"api.github.com", "/graphql", "user-agent: GitHub CLI 2.23\r\n", "message"},
		{"github.com", "/o/r.git/info/lfs/objects/batch",
		 "accept: application/vnd.git-lfs+json\r\n", "message"},
		{"gitlab.com", "/api/v4/projects", "content-type: application/json\r\n", "message"},
		{"api.anthropic.com", "/v1/files", "anthropic-version: 2023-06-01\r\n",
		 "error/message"},
		{"api.openai.com", "/v1/files", "accept: application/json\r\n", "error/message"},
		{"chatgpt.com", "/backend-api/x", "accept: text/event-stream, application/json\r\n",
		 "error/message"},
	};

	for (size_t i = 0; i < sg_array_len(clients); i++) {
		struct answered a;
		json_t *j;

		ask("POST", clients[i].host, clients[i].path, clients[i].fields, &a);
		expect(&a, 403, "application/json");
		j = json_loads(a.text, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(at(j, clients[i].at));
		assert_non_null(strstr(at(j, clients[i].at), "to allow it: " REMEDY));
		json_decref(j);
		forget(&a);
	}
}

/* What Claude Code and the SDKs of both makers tell kinds of errors by. */
static void test_json_of_models(void **state)
{
	struct answered a;
	json_t *j;

	ask("POST", "api.anthropic.com", "/v1/files", "", &a);
	j = json_loads(a.text, JSON_REJECT_DUPLICATES, NULL);
	assert_string_equal(at(j, "type"), "error");
	assert_string_equal(at(j, "error/type"), "permission_error");
	assert_string_equal(at(j, "error/code"), "operation-not-allowed");
	json_decref(j);
	forget(&a);
}

static void test_grpc(void **state)
{
	struct request_verdict v = push;
	struct message request;
	struct answered a;

	v.why = "100% wrong";
	request_of("POST", "grpc.example", "/a.B/C", "content-type: application/grpc+proto\r\n",
		   &request);
	answer_to(&request, &v, &a);
	expect(&a, 200, "application/grpc");
	assert_int_equal(a.answer.body, MESSAGE_BODY_NONE);
	assert_string_equal(field_of(&a, "grpc-status"), "7");
	assert_non_null(
		strstr(field_of(&a, "grpc-message"), "100%25 wrong; permission github:push"));
	forget(&a);
	message_free(&request);
	ask("POST", "grpc.example", "/a.B/C", "content-type: application/grpc-web+proto\r\n", &a);
	expect(&a, 200, "application/grpc-web");
	forget(&a);
}

static void test_line(void **state)
{
	struct request_verdict v = {.what = REQUEST_REFUSED, .reason = REASON_NOT_IN_POLICY};
	char line[REFUSAL_TEXT_MAX];
	struct message m;

	request_of("GET", "a.example", "/x", "", &m);
	assert_string_equal(refusal_text(&m, &v, line),
			    "sandgate: GET a.example/x: no rule of the policy allows it");
	strcpy(v.remedy, "sandgate net allow demo site:a.example");
	assert_non_null(strstr(refusal_text(&m, &v, line),
			       "; to allow it: sandgate net allow demo site:a.example"));
	v = (struct request_verdict){.reason = REASON_OPERATION_NOT_ALLOWED, .why = "it is large"};
	assert_string_equal(
		refusal_text(&m, &v, line),
		"sandgate: GET a.example/x: the permissions allow the host, but not this "
		"request: it is large; no permission is for it");
	message_free(&m);
}

/* No octet of the sandbox's moves a terminal, ends the line or fills it. */
static void test_line_of_hostile_octets(void **state)
{
	struct request_verdict v = {.what = REQUEST_REFUSED, .reason = REASON_NOT_IN_POLICY};
	char line[REFUSAL_TEXT_MAX], path[3000];
	struct message m;

	request_of("GET", "203.0.113.9", "/", "", &m);
	m.path = span_of("/\x1b[2J\r\n\xc2\x9b\x7f x?q", 13);
	assert_string_equal(
		refusal_text(&m, &v, line),
		"sandgate: GET 203.0.113.9/?[2J??????x: no rule of the policy allows it");
	memset(path, 'a', sizeof(path));
	m.path = span_of(path, sizeof(path));
	refusal_text(&m, &v, line);
	assert_true(strlen(line) < 300);
	assert_non_null(strstr(line, "aaa...: no rule of the policy allows it"));
	message_free(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_git),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_of_models),
		cmocka_unit_test(test_grpc),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_line_of_hostile_octets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
