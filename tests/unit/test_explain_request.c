/* SPDX-License-Identifier: Apache-2.0 */
/* What explain says of a request is what the broker says, operation and remedy included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "broker/explain_request.h"
#include "policy/permission.h"

static void explain(const char *yaml, const char *url, const char *method, struct explanation *x)
{
	const struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct remedy_for who = {.sandbox = "box", .catalogue = catalogue_builtin()};
	struct explain_target t;
	struct ruleset *rs = NULL;
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "f", &p, &e) ||
	    policy_resolve(&p, &sources, &e) || explain_parse_target(url, &t, &e) ||
	    (method && explain_set_method(method, &t, &e)) || !(rs = ruleset_compile(&p, 1, &e)))
		fail_msg("%s", e.text);
	who.on = p.resolved.on;
	explain_decide(rs, NULL, &who, &t, x);
	explain_request(rs, NULL, &who, x);
	/* What stands in the ruleset goes with it. */
	x->verdict.rule = NULL;
	x->verdict.permission = NULL;
	ruleset_free(rs);
	policy_free(&p);
}

static const struct row {
	const char *policy, *url, *method;
	bool allow;
	enum reason reason;
	const char *operation, *of, *remedy, *note;
} rows[] = {
	{"permissions: [github]", "https://github.com/x/y.git/info/refs?service=git-upload-pack",
	 NULL, true, REASON_NONE, "ask what there is to fetch", "github", "",
	 "as long as the name resolves to a public address"},
	{"permissions: [github]", "https://github.com/x/y.git/git-receive-pack", "POST", false,
	 REASON_OPERATION_NOT_ALLOWED, "push", "github:push", "sandgate net allow box github:push",
	 ""},
	{"permissions: ['github:push']", "https://github.com/x/y.git/git-receive-pack", "POST",
	 true, REASON_NONE, "push", "github:push", "",
	 "as long as the name resolves to a public address"},
	/* a body that decides is taken as it ought to be */
	{"permissions: [github]", "https://api.github.com/graphql", "POST", true, REASON_NONE,
	 "query by GraphQL", "github", "",
	 "as long as the name resolves to a public address; as long as its body asks for nothing "
	 "else"},
	{"permissions: [github]", "https://github.com/x/y.git/info/lfs/objects/batch", "POST", true,
	 REASON_NONE, "ask where large files are", "github", "",
	 "as long as the name resolves to a public address; as long as its body asks for nothing "
	 "else"},
	{"permissions: ['install:container']", "https://auth.docker.io/token", "POST", true,
	 REASON_NONE, "get a token that can only pull", "install:container", "",
	 "as long as the name resolves to a public address; as long as its body asks for nothing "
	 "else"},
	{"permissions: ['install:container']",
	 "https://auth.docker.io/token?service=registry.docker.io&scope=repository:a/b:push", NULL,
	 false, REASON_OPERATION_NOT_ALLOWED, "get a token that can push", "publish:container",
	 "sandgate net allow box publish:container", "the token that it asks for could do more"},
	/* no permission has it */
	{"permissions: ['model:anthropic']", "https://api.anthropic.com/v1/files", "POST", false,
	 REASON_OPERATION_NOT_ALLOWED, "", "", "", ""},
	/* plain HTTP is the broker's as well, where operations are held */
	{"permissions: ['install:system']", "http://archive.ubuntu.com/ubuntu/x", "PUT", false,
	 REASON_OPERATION_NOT_ALLOWED, "", "", "", ""},
	{"permissions: ['install:system']", "http://archive.ubuntu.com/ubuntu/x", NULL, true,
	 REASON_NONE, "read and download", "install:system", "",
	 "as long as the name resolves to a public address"},
	/* what names another method is refused where methods count */
	{"permissions: [github]", "https://api.github.com/x?_method=DELETE", NULL, false,
	 REASON_METHOD_NOT_ALLOWED, "", "", "", "its query names a method"},
	/* by an own rule everything is let through, and by a closed host */
	{"allow: [github.com]", "https://github.com/x/y.git/git-receive-pack", "POST", true,
	 REASON_NONE, "", "", "", "its requests are not seen: method and path are not looked at"},
	{"permissions: [github]\nsplice: [github.com]",
	 "https://github.com/x/y.git/git-receive-pack", "POST", true, REASON_NONE, "", "", "",
	 "its requests are not seen: method and path are not looked at"},
	/* seen, and nothing forbids it */
	{"allow: [a.example.com]\ninspect: [a.example.com]", "https://a.example.com/x", "DELETE",
	 true, REASON_NONE, "", "", "", "as long as the name resolves to a public address"},
	/* beside a rule about requests, others are as the permission says */
	{"permissions: [github]\nallow: [{host: github.com, methods: [PUT]}]",
	 "https://github.com/x/y.git/git-receive-pack", "POST", false, REASON_OPERATION_NOT_ALLOWED,
	 "push", "github:push", "sandgate net allow box github:push", ""},
	{"permissions: [github]\nallow: [{host: github.com, methods: [PUT]}]",
	 "https://github.com/x", "PUT", true, REASON_NONE, "", "", "",
	 "as long as the name resolves to a public address"},
	/* `brokered`: by the proxy port */
	{"network: brokered\npermissions: [github]", "https://github.com/x/y.git/git-receive-pack",
	 "POST", false, REASON_OPERATION_NOT_ALLOWED, "push", "github:push",
	 "sandgate net allow box github:push", ""},
};

static void test_rows(void **state)
{
	char yaml[512];

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		const struct row *r = &rows[i];
		struct explanation x;

		snprintf(yaml, sizeof(yaml), "%s%s\n",
			 strncmp(r->policy, "network", 7) == 0 ? "" : "network: deny\n", r->policy);
		explain(yaml, r->url, r->method, &x);
		if (x.verdict.allow != r->allow || x.verdict.reason != r->reason ||
		    strcmp(x.operation, r->operation) != 0 || strcmp(x.operation_of, r->of) != 0 ||
		    strcmp(x.remedy, r->remedy) != 0 || strcmp(x.note, r->note) != 0)
			fail_msg("%s: %s %s\nsays: %d %s, \"%s\" of \"%s\", \"%s\", \"%s\"", yaml,
				 r->url, r->method ? r->method : "GET", x.verdict.allow,
				 reason_word(x.verdict.reason), x.operation, x.operation_of,
				 x.remedy, x.note);
	}
}

#define NOT_BOUND                                                                                \
	"as long as the name resolves to a public address; no credential of this host is bound " \
	"to this method and path"

static void test_credentials(void **state)
{
	static const char policy[] =
		"network: deny\nallow: [a.example.com, b.example.com]\ninspect: [b.example.com]\n"
		"credentials:\n"
		"  - {host: a.example.com, header: X-Key, value: '${secret}', from: 'env:A', paths: "
		"['/v1/*'], methods: [GET]}\n"
		"  - {host: a.example.com, query: key, from: 'env:B', paths: ['/v1/x']}\n"
		"  - {host: a.example.com, query: key, from: 'env:C', paths: ['/v1/*']}\n";
	static const char *const rest = "as long as the name resolves to a public address";
	static const struct {
		const char *url, *method, *credential, *note;
	} of[] = {
		{"https://a.example.com/v1/y?q=1", NULL,
		 "X-Key at a.example.com, ?key at a.example.com", rest},
		{"https://a.example.com/v1/x", NULL,
		 "X-Key at a.example.com, ?key at a.example.com", rest},
		{"https://a.example.com/v1/y", "POST", "?key at a.example.com", rest},
		/* a miss is said: it would look as if the credential were not there */
		{"https://a.example.com/v2/y", NULL, "", NOT_BOUND},
		{"https://a.example.com/v1/%2e%2e/v2", NULL, "", NOT_BOUND},
		{"https://b.example.com/v1/y", NULL, "", rest},
		{"http://a.example.com/v1/y", NULL, "", rest},
	};

	for (size_t i = 0; i < sg_array_len(of); i++) {
		struct explanation x;

		explain(policy, of[i].url, of[i].method, &x);
		assert_true(x.verdict.allow);
		assert_string_equal(x.credential, of[i].credential);
		assert_string_equal(x.note, of[i].note);
	}
}

static void test_credentials_as_text(void **state)
{
	struct explanation x;
	char *text;

	explain("network: deny\nallow: [a.example.com]\ncredentials:\n"
		"  - {host: a.example.com, basic: ci, from: 'env:A'}\n",
		"https://a.example.com/x", NULL, &x);
	text = explain_print_text(&x);
	assert_non_null(strstr(text, "\nadded   Authorization at a.example.com\n"));
	free(text);
	text = explain_print_json(&x);
	assert_non_null(strstr(text, "\"credential\":\"Authorization at a.example.com\""));
	free(text);
}

static void test_text(void **state)
{
	struct explanation x;
	char *text;

	explain("network: standard\n", "https://github.com/x/y.git/git-receive-pack", "POST", &x);
	text = explain_print_text(&x);
	assert_string_equal(
		text, "deny    github.com, port 443, tcp\n"
		      "request POST /x/y.git/git-receive-pack\n"
		      "reason  operation-not-allowed: the permissions allow the host, but not this "
		      "request\n"
		      "step    5, permissions\n"
		      "rule    github.com of permission github\n"
		      "request push, of permission github:push\n"
		      "inspect its requests are seen: the permission is for some operations only\n"
		      "remedy  sandgate net allow box github:push\n");
	free(text);
	text = explain_print_json(&x);
	assert_non_null(strstr(text, "\"inspected\":\"operations\",\"operation\":\"push\","
				     "\"operation_of\":\"github:push\""));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_credentials),
		cmocka_unit_test(test_credentials_as_text),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
