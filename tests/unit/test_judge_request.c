/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies as they come, hosts that have to be seen, and 60,000 generated permissions and requests on
 * which judge_request() agrees with a slow reference. The rows of the catalogue are golden tables
 * (tests/golden/operations-*.txt).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "broker/judge_request.h"
#include "policy/strings.h"
#include "request_of.h"

static struct policy policy;
static struct ruleset *rules;

static void use(const char *yaml)
{
	struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct err e = {0};

	ruleset_free(rules);
	policy_free(&policy);
	if (policy_parse(span_of_string(yaml), POLICY_YAML, "test", &policy, &e) ||
	    policy_resolve(&policy, &sources, &e) || !(rules = ruleset_compile(&policy, 1, &e)))
		fail_msg("%s", e.text);
}

static int clear(void **state)
{
	ruleset_free(rules);
	rules = NULL;
	policy_free(&policy);
	return 0;
}

static struct request_judge judge_of(void)
{
	return (struct request_judge){
		.rules = rules,
		.catalogue = catalogue_builtin(),
		.remedy_for = {.catalogue = catalogue_builtin(), .on = policy.resolved.on}};
}

/* ---- Bodies ---- */

static enum judged_request ask(const struct message *m, struct span body, bool whole)
{
	struct request_judge j = judge_of();
	struct request_verdict v;

	judge_request(&j, m, body, whole, &v);
	return v.what;
}

static void test_body_as_it_comes(void **state)
{
	static const char text[] = "{\"query\":\"{a}\"}";
	struct message m;

	use("network: deny\npermissions: [github]\n");
	request_of("POST", "api.github.com", "/graphql",
		   "content-type: application/json\r\ntransfer-encoding: chunked\r\n", &m);
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_NEEDS_BODY);
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		assert_int_equal(ask(&m, span_of(text, n), false), REQUEST_NEEDS_BODY);
		/* a part is no document, so it is refused when it is all there is */
		assert_int_equal(ask(&m, span_of(text, n), true), REQUEST_REFUSED);
	}
	assert_int_equal(ask(&m, span_of(text, sizeof(text) - 1), false), REQUEST_NEEDS_BODY);
	assert_int_equal(ask(&m, span_of(text, sizeof(text) - 1), true), REQUEST_ADMITTED);
	message_free(&m);
}

static void test_body_of_the_largest_size(void **state)
{
	static char text[REQUEST_BODY_MAX + 1];
	struct message m;

	use("network: deny\npermissions: [github]\n");
	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"query\":\"{a}\"}", 15);
	request_of("POST", "api.github.com", "/graphql",
		   "content-type: application/json\r\ntransfer-encoding: chunked\r\n", &m);
	assert_int_equal(ask(&m, span_of(text, REQUEST_BODY_MAX), true), REQUEST_ADMITTED);
	assert_int_equal(ask(&m, span_of(text, REQUEST_BODY_MAX - 1), false), REQUEST_NEEDS_BODY);
	assert_int_equal(ask(&m, span_of(text, REQUEST_BODY_MAX), false), REQUEST_REFUSED);
	assert_int_equal(ask(&m, span_of(text, REQUEST_BODY_MAX + 1), true), REQUEST_REFUSED);
	message_free(&m);
}

/* What is known from the head is not waited for. */
static void test_body_that_is_not_waited_for(void **state)
{
	static const char *const fields[] = {
		"",
		"content-type: application/json\r\n",
		"content-type: application/json\r\ncontent-length: 65537\r\n",
		"content-type: application/json\r\ncontent-length: 9\r\ncontent-encoding: br\r\n",
		"content-type: application/json\r\ncontent-length: 9\r\ncontent-encoding: identity\r\n",
		"content-type: text/plain\r\ncontent-length: 9\r\n",
		"content-type: application/json;a=b\r\ncontent-length: 9\r\n",
		"content-length: 9\r\n",
	};
	struct message m;

	use("network: deny\npermissions: [github]\n");
	for (size_t i = 0; i < sg_array_len(fields); i++) {
		request_of("POST", "api.github.com", "/graphql", fields[i], &m);
		assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_REFUSED);
		message_free(&m);
	}
}

/* ---- Forms of requests ---- */

static void test_extended_connect_is_a_get(void **state)
{
	struct message m;

	use("network: deny\npermissions: [model:openai]\n");
	request_of("GET", "api.openai.com", "/v1/responses", "", &m);
	m.method = span_of_string("CONNECT");
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_REFUSED);
	m.protocol = span_of_string("websocket");
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_ADMITTED);
	m.path = span_of_string("/v1/files");
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_REFUSED);
	message_free(&m);
}

static void test_what_no_codec_hands_on(void **state)
{
	static const char long_method[] = "GETGETGETGETGETGETGETGETGETGETGETGET";
	struct message m;

	use("network: any\n");
	request_of("GET", "a.example", "/x", "", &m);
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_ADMITTED);
	m.method = span_of_string(long_method);
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_REFUSED);
	m.method = span_of("GE\0T", 4);
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_REFUSED);
	m.method = span_of_string("GET");
	m.path = span_of("/x\0y", 4);
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_REFUSED);
	message_free(&m);
}

static void test_address(void **state)
{
	struct message m;

	use("network: deny\nallow: [203.0.113.10]\n");
	request_of("GET", "203.0.113.10", "/", "", &m);
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_ADMITTED);
	message_free(&m);
	request_of("GET", "203.0.113.11", "/", "", &m);
	assert_int_equal(ask(&m, span_of(NULL, 0), false), REQUEST_REFUSED);
	message_free(&m);
}

/* A rule by the address of the connection counts for what is asked for by name as well. */
static void test_address_of_the_connection(void **state)
{
	struct request_judge j;
	struct request_verdict v;
	struct addr a;
	struct message m;

	use("network: deny\npermissions: [github]\ndeny: [140.82.121.0/24]\n");
	j = judge_of();
	request_of("GET", "api.github.com", "/", "", &m);
	judge_request(&j, &m, span_of(NULL, 0), false, &v);
	assert_int_equal(v.what, REQUEST_ADMITTED);
	assert_true(addr_parse("140.82.121.6", 12, &a));
	j.addr = &a;
	judge_request(&j, &m, span_of(NULL, 0), false, &v);
	assert_int_equal(v.what, REQUEST_REFUSED);
	assert_int_equal(v.reason, REASON_DENIED_BY_RULE);
	message_free(&m);
}

static void test_remedy_without_a_name(void **state)
{
	struct request_judge j;
	struct request_verdict v;
	struct message m;

	use("network: deny\npermissions: [github]\n");
	j = judge_of();
	request_of("POST", "github.com", "/o/r/git-receive-pack", "content-length: 4\r\n", &m);
	judge_request(&j, &m, span_of(NULL, 0), false, &v);
	assert_string_equal(v.remedy, "sandgate run --allow github:push ...");
	message_free(&m);
}

/* It carries anything, so a rule for reading admits none. */
static void test_websocket_by_rules(void **state)
{
	static const struct {
		const char *policy;
		enum judged_request what;
	} rows[] = {
		{"allow: [{host: a.example.com, methods: [GET, HEAD]}]", REQUEST_REFUSED},
		{"allow: [{host: a.example.com, methods: [GET, POST]}]", REQUEST_ADMITTED},
		{"allow: [a.example.com]", REQUEST_ADMITTED},
		{"allow: [a.example.com]\ndeny: [{host: a.example.com, methods: [POST], ports: [80, 443]}]",
		 REQUEST_REFUSED},
	};
	struct message m;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[256];

		snprintf(text, sizeof(text), "network: deny\n%s\n", rows[i].policy);
		use(text);
		request_of("GET", "a.example.com", "/x", "", &m);
		m.protocol = span_of_string("websocket");
		assert_int_equal(ask(&m, span_of(NULL, 0), false), rows[i].what);
		message_free(&m);
	}
}

/* ---- Against a reference ---- */

/*
 * What is asked: bodies of which it is known what they are, and paths that have one reading only,
 * so that the reference may compare them as they stand.
 */
static const struct sample {
	const char *type, *text, *holds; /* the checks that hold for it, each between spaces */
} samples[] = {
	{NULL, NULL, " "},
	{"text/plain", "x", " "},
	{"application/json", "{\"query\":\"{a}\"}", " graphql-query "},
	{"application/json", "{\"query\":\"mutation{a}\"}", " "},
	{"application/vnd.git-lfs+json", "{\"operation\":\"download\"}", " lfs-download "},
	{"application/vnd.git-lfs+json", "{\"operation\":\"upload\"}", " lfs-upload "},
	{"application/x-www-form-urlencoded", "scope=repository:a:pull", " scope-pull scope-push "},
	{"application/x-www-form-urlencoded", "scope=repository:a:push", " scope-push "},
};

static const struct target {
	const char *path, *holds; /* the checks that hold for it in a GET */
} targets[] = {
	{"/", " "},
	{"/x", " "},
	{"/graphql", " graphql-query "},
	{"/graphql?query=x", " "},
	{"/markdown", " "},
	{"/o/r.git/info/refs?service=git-upload-pack", " "},
	{"/o/r.git/info/refs?service=git-receive-pack", " "},
	{"/o/r.git/git-upload-pack", " "},
	{"/o/r.git/git-receive-pack", " "},
	{"/o/r.git/info/lfs/objects/batch", " "},
	{"/o/r.git/info/lfs/locks", " "},
	{"/o/r/releases/x", " "},
	{"/token?scope=repository:a:pull", " scope-pull scope-push "},
	{"/token?scope=repository:a:push", " scope-push "},
	{"/token", " scope-pull scope-push "},
	{"/v2/auth?scope=repository:a:push", " scope-push "},
	{"/v2/a/b/blobs/uploads/", " "},
	{"/-/npm/v1/security/audits/quick", " "},
	{"/v1/messages", " "},
	{"/v1/files", " "},
	{"/legacy/", " "},
	{"/login/device", " "},
	{"/api/v4/projects", " "},
	{"/copilot_internal/v2/token", " "},
};

static const char *const methods[] = {"GET",   "HEAD",	 "POST",  "PUT",
				      "PATCH", "DELETE", "QUERY", "OPTIONS"};

static bool glob(const char *pattern, const char *s)
{
	if (*pattern == '*')
		return glob(pattern + 1, s) || (*s && glob(pattern, s + 1));
	return *pattern == *s && (*s == 0 || glob(pattern + 1, s + 1));
}

static bool is_path(const struct operation *o, const char *target)
{
	char path[256];

	for (const char *const *p = o->paths; p && *p; p++) {
		snprintf(path, sizeof(path), "%s", target);
		if (!strchr(*p, '?'))
			path[strcspn(path, "?")] = 0;
		if (glob(*p, path))
			return true;
	}
	return !o->paths;
}

static bool is_word_of(const char *const *words, const char *word)
{
	for (; words && *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* A rule of the catalogue for the ports of the web, compared as text. */
static bool is_host_of(const struct permission *p, const char *host)
{
	for (const char *const *r = p->rules; *r; r++)
		if (!strchr(*r, ':') &&
		    (**r == '*' ? strlen(host) >= strlen(*r) &&
					  strcmp(host + strlen(host) - strlen(*r) + 1, *r + 1) == 0
				: strcmp(*r, host) == 0))
			return true;
	return false;
}

static bool is_for(const struct permission *p, const struct operation *o, const char *host)
{
	return o->host ? strcmp(o->host, host) == 0 : is_host_of(p, host);
}

struct question {
	const char *host, *method;
	const struct target *target;
	const struct sample *body;
};

static bool check_holds(const struct operation *o, const struct question *q)
{
	bool safe = strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;
	char word[64];

	snprintf(word, sizeof(word), " %s ", o->check);
	if (safe)
		return strstr(q->target->holds, word) && !q->body->text;
	return strstr(q->body->holds, word) && !strchr(q->target->path, '?');
}

static bool some_writes(const struct question *q)
{
	const struct catalogue *c = catalogue_builtin();

	for (size_t i = 0; i < c->n_permissions; i++)
		for (size_t k = 0; k < c->permissions[i].n_operations; k++) {
			const struct operation *o = &c->permissions[i].operations[k];

			if (o->write && o->paths && is_for(&c->permissions[i], o, q->host) &&
			    (!o->methods || is_word_of(o->methods, q->method)) &&
			    is_path(o, q->target->path))
				return true;
		}
	return false;
}

static bool permits(const struct permission *p, const struct question *q)
{
	bool about = false, checked = false, writes = some_writes(q);

	for (size_t i = 0; i < p->n_operations; i++) {
		about |= is_for(p, &p->operations[i], q->host);
		checked |= p->operations[i].check && is_for(p, &p->operations[i], q->host) &&
			   is_path(&p->operations[i], q->target->path);
	}
	for (size_t i = 0; i < p->n_operations; i++) {
		const struct operation *o = &p->operations[i];

		if (!is_for(p, o, q->host) || !is_path(o, q->target->path) ||
		    (o->methods && !is_word_of(o->methods, q->method)))
			continue;
		if (o->check ? check_holds(o, q) : !checked && !(writes && !o->paths))
			return true;
	}
	return !about && is_host_of(p, q->host);
}

static bool reference(const struct question *q)
{
	const struct catalogue *c = catalogue_builtin();
	bool host = false, permitted = false;

	for (char **id = policy.resolved.on; id && *id; id++) {
		const struct permission *p = catalogue_permission(c, *id);

		host |= is_host_of(p, q->host);
		permitted |= permits(p, q);
	}
	return host && permitted;
}

/* xorshift64*: the same run each time. */
static size_t below(uint64_t *seed, size_t n)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (size_t)((*seed * 0x2545f4914f6cdd1dULL) >> 33) % n;
}

static void choose_permissions(uint64_t *seed)
{
	const struct catalogue *c = catalogue_builtin();
	char yaml[1024] = "network: deny\npermissions: [";
	size_t n = 1 + below(seed, 4), length;

	for (size_t i = 0; i < n; i++) {
		const struct permission *p;

		do
			p = &c->permissions[below(seed, c->n_permissions)];
		while (p->instead || p->asks);
		length = strlen(yaml);
		snprintf(yaml + length, sizeof(yaml) - length, "%s\"%s\"", i ? ", " : "", p->id);
	}
	length = strlen(yaml);
	snprintf(yaml + length, sizeof(yaml) - length, "]\n");
	use(yaml);
}

/* A host of some permission that is on, or of any. */
static const char *choose_host(uint64_t *seed)
{
	const struct catalogue *c = catalogue_builtin();

	for (;;) {
		const struct permission *p = &c->permissions[below(seed, c->n_permissions)];
		size_t n = string_list_length((char *const *)p->rules);
		const char *host = n ? p->rules[below(seed, n)] : "*";

		if (!strpbrk(host, "*:") &&
		    (below(seed, 8) == 0 || string_list_has(policy.resolved.on, p->id)))
			return host;
		if (!policy.resolved.permissions.n && !strpbrk(host, "*:"))
			return host;
		if (below(seed, 200) == 0)
			return "github.com";
	}
}

static bool is_admitted(const struct question *q)
{
	char fields[256] = "";
	struct message m;
	struct span body = span_of_string(q->body->text ? q->body->text : "");
	enum judged_request what;

	if (q->body->text)
		snprintf(fields, sizeof(fields), "content-type: %s\r\ncontent-length: %zu\r\n",
			 q->body->type, body.n);
	request_of(q->method, q->host, q->target->path, fields, &m);
	what = ask(&m, span_of(NULL, 0), false);
	if (what == REQUEST_NEEDS_BODY)
		what = ask(&m, body, true);
	assert_int_not_equal(what, REQUEST_NEEDS_BODY);
	message_free(&m);
	return what == REQUEST_ADMITTED;
}

static void test_reference(void **state)
{
	uint64_t seed = 20261129;
	size_t admitted = 0, asked = 0;

	for (unsigned i = 0; i < 600; i++) {
		choose_permissions(&seed);
		for (unsigned k = 0; k < 100; k++, asked++) {
			struct question q = {
				.host = choose_host(&seed),
				.method = methods[below(&seed, sg_array_len(methods))],
				.target = &targets[below(&seed, sg_array_len(targets))],
				.body = &samples[below(&seed, sg_array_len(samples))],
			};
			bool want = reference(&q);

			if (is_admitted(&q) != want)
				fail_msg("%s https://%s%s with %s: the reference says %d", q.method,
					 q.host, q.target->path, q.body->text, want);
			admitted += want;
		}
	}
	/* both answers are common, so that the agreement says something */
	assert_true(admitted > asked / 20 && admitted < asked - asked / 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_body_as_it_comes),
		cmocka_unit_test(test_body_of_the_largest_size),
		cmocka_unit_test(test_body_that_is_not_waited_for),
		cmocka_unit_test(test_extended_connect_is_a_get),
		cmocka_unit_test(test_what_no_codec_hands_on),
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_address_of_the_connection),
		cmocka_unit_test(test_remedy_without_a_name),
		cmocka_unit_test(test_websocket_by_rules),
		cmocka_unit_test(test_reference),
	};

	policy_init(&policy);
	return cmocka_run_group_tests(tests, NULL, clear);
}
