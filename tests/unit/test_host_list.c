/* SPDX-License-Identifier: Apache-2.0 */
/* `inspect` and `splice`: read, printed, sent and copied; and what they contradict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "policy/change.h"
#include "policy/decide.h"
#include "policy/host_conflict.h"
#include "policy/host_list.h"
#include "policy/print_yaml.h"

static int parse(const char *yaml, struct policy *p, struct err *e)
{
	e->text[0] = 0;
	return policy_parse(span_of_string(yaml), POLICY_YAML, "f.yaml", p, e);
}

static void use(const char *yaml, struct policy *p)
{
	struct err e;

	if (parse(yaml, p, &e))
		fail_msg("%s: %s", yaml, e.text);
}

static const char both[] = "network: deny\n"
			   "inspect: [API.example.com, 'api.example.com', '*.example.org:8443']\n"
			   "splice: ['*.bank.example', pinned.example.org]\n";
static const char both_json[] = "{\"version\":1,\"network\":\"deny\","
				"\"inspect\":[\"api.example.com\",\"*.example.org:8443\"],"
				"\"splice\":[\"*.bank.example\",\"pinned.example.org\"]}";

static void assert_says_both(const struct policy *p)
{
	char *text = policy_print_json(p);

	assert_string_equal(text, both_json);
	free(text);
}

static void test_is_read_and_printed(void **state)
{
	struct policy p, again;
	char *yaml;

	use(both, &p);
	assert_int_equal(p.inspect.n, 2);
	assert_int_equal(p.inspect.v[0].port, 443);
	assert_int_equal(p.inspect.v[1].port, 8443);
	assert_true(p.inspect.v[1].below);
	assert_says_both(&p);
	yaml = policy_print_yaml(&p);
	use(yaml, &again);
	assert_says_both(&again);
	free(yaml);
	policy_free(&again);
	policy_free(&p);
}

static void test_all(void **state)
{
	struct policy p, again;
	char *json, *yaml;

	use("network: open\ninspect: all\nsplice: [bank.example]\n", &p);
	assert_true(p.inspect_all);
	assert_int_equal(p.inspect.n, 0);
	json = policy_print_json(&p);
	assert_string_equal(json, "{\"version\":1,\"network\":\"open\",\"inspect\":\"all\","
				  "\"splice\":[\"bank.example\"]}");
	yaml = policy_print_yaml(&p);
	use(yaml, &again);
	assert_true(again.inspect_all);
	free(yaml);
	free(json);
	policy_free(&again);
	policy_free(&p);
	use("network: open\ninspect: []\nsplice: []\n", &p);
	assert_false(p.inspect_all);
	policy_free(&p);
}

/* To the gate and the broker; into a ruleset; and into a change of something else. */
static void test_survives(void **state)
{
	const struct policy_sources sources = {.catalogue = catalogue_builtin()};
	static const char *const item[] = {"b.example.com", NULL};
	const struct policy_change change = {.allow = item};
	struct policy p, sent, changed;
	struct ruleset *rs;
	bool differs;
	struct err e;
	char *wire;

	use(both, &p);
	assert_int_equal(policy_resolve(&p, &sources, &e), 0);
	wire = policy_print_wire(&p);
	assert_int_equal(policy_parse_wire(span_of_string(wire), &sent, &e), 0);
	assert_true(host_list_equal(&p.inspect, &sent.inspect));
	assert_true(host_list_equal(&p.splice, &sent.splice));
	rs = ruleset_compile(&sent, 1, &e);
	policy_free(&sent);
	assert_true(host_list_equal(&p.inspect, &ruleset_policy(rs)->inspect));
	assert_true(host_list_equal(&p.splice, &ruleset_policy(rs)->splice));
	assert_int_equal(policy_apply_change(&p, &change, &sources, &changed, &differs, &e), 0);
	assert_true(differs);
	assert_true(host_list_equal(&p.splice, &changed.splice));
	policy_free(&changed);
	ruleset_free(rs);
	free(wire);
	policy_free(&p);
}

static void test_equal(void **state)
{
	struct policy a, b;

	use("network: deny\ninspect: [a.example, '*.b.example']\n", &a);
	use("network: deny\ninspect: ['*.b.example', a.example]\n", &b);
	assert_true(host_list_equal(&a.inspect, &b.inspect));
	policy_free(&b);
	use("network: deny\ninspect: [b.example, a.example]\n", &b);
	assert_false(host_list_equal(&a.inspect, &b.inspect));
	policy_free(&b);
	use("network: deny\ninspect: [a.example:8443, '*.b.example']\n", &b);
	assert_false(host_list_equal(&a.inspect, &b.inspect));
	policy_free(&b);
	policy_free(&a);
}

static bool has(const struct host_list *list, const char *host, uint16_t port)
{
	struct name name;

	assert_int_equal(name_parse_ascii(host, strlen(host), &name), NAME_OK);
	return host_list_has(list, &name, port);
}

static void test_matches_on_the_dot(void **state)
{
	struct policy p;

	use("network: deny\ninspect: [a.example, '*.b.example', c.example:8443]\n", &p);
	assert_true(has(&p.inspect, "a.example", 443));
	assert_false(has(&p.inspect, "x.a.example", 443));
	assert_false(has(&p.inspect, "aa.example", 443));
	assert_false(has(&p.inspect, "a.example", 8443));
	assert_true(has(&p.inspect, "x.b.example", 443));
	assert_true(has(&p.inspect, "y.x.b.example", 443));
	assert_false(has(&p.inspect, "b.example", 443));
	assert_false(has(&p.inspect, "xb.example", 443));
	assert_true(has(&p.inspect, "c.example", 8443));
	assert_false(has(&p.inspect, "c.example", 443));
	policy_free(&p);
}

/* ---- What is refused ---- */

static const struct wrong {
	const char *yaml, *says;
} wrongs[] = {
	{"inspect: a.example\n", "f.yaml:2:10: `inspect` is a list of hosts, or `all`; write"},
	{"inspect: [all]\n", "f.yaml:2:10: a list names hosts; to open all, write `inspect: all`"},
	{"splice: all\n", "f.yaml:2:9: `splice` is a list of hosts whose TLS stays closed"},
	{"inspect: {a: b}\n", "f.yaml:2:10: `inspect` is a list of hosts, or `all`"},
	{"inspect: [{host: a.example}]\n", "f.yaml:2:11: a map stands where one value belongs"},
	{"inspect: [10.0.0.1]\n",
	 "f.yaml:2:11: `10.0.0.1`: TLS is opened by the name that a client asks for, and an "
	 "address has none; write the host's name"},
	{"splice: [10.0.0.0/8]\n", "f.yaml:2:10: `10.0.0.0/8`: TLS is opened by the name"},
	{"splice: ['[2001:db8::1]:443']\n", "TLS is opened by the name"},
	{"splice: ['*']\n", "it would allow every name"},
	{"splice: ['*.com']\n", "f.yaml:2:10: `*.com`: `com` is a public suffix"},
	{"inspect: ['*.github.io']\n", "`github.io` is a public suffix"},
	{"inspect: [api.*.example]\n", "a wildcard is the whole first label"},
	{"inspect: ['https://a.example/x']\n",
	 "f.yaml:2:11: `https://a.example/x`: it is a URL; the host part is `a.example`"},
	{"inspect: ['']\n", "``: it is empty; write a name, or `*.domain`"},
	{"inspect: [a..example]\n", "a label is empty"},
	{"inspect: ['a.example:0']\n", "port `0` is not between"},
	{"inspect: ['a.example:1-2']\n", "one port belongs to a host"},
	{"inspect: ['a.example:8443,443']\n", "one port belongs to a host"},
	{"inspect: ['a.example:*']\n", "one port belongs to a host"},
	{"splice: ['a.example:80']\n", "port 80 is plain HTTP, where requests are seen anyway"},
	{"splice: [a.example/tcp]\n", "TLS runs over TCP; write the host without a protocol"},
	{"inspect: [a.example]\nsplice: [b.example, a.example]\n",
	 "f.yaml:2:11: `a.example` is to be opened, and kept closed by `a.example` of `splice`"},
	{"splice: ['*.a.example']\ninspect: [x.a.example]\n",
	 "f.yaml:3:11: `x.a.example` is to be opened, and kept closed by `*.a.example`"},
	{"inspect: ['*.x.a.example:8443']\nsplice: ['*.a.example:8443']\n",
	 "`*.x.a.example:8443` is to be opened, and kept closed by `*.a.example:8443`"},
	{"splice: [a.example]\n"
	 "allow: [b.example, {host: a.example, methods: [GET]}]\n",
	 "f.yaml:2:10: `a.example` cannot stay closed: the rule `a.example` is about methods or "
	 "paths, which could not be held; leave it out of `splice`"},
	{"allow: [{host: '*.a.example', paths: [/x]}]\nsplice: [b.example, x.a.example]\n",
	 "f.yaml:3:21: `x.a.example` cannot stay closed: the rule `*.a.example`"},
	{"deny: [{host: x.a.example, ports: [443], methods: [PUT]}]\nsplice: ['*.a.example']\n",
	 "`*.a.example` cannot stay closed: the rule `x.a.example:443`"},
	{"splice: ['*.a.example']\ncredentials:\n  - {host: x.a.example, header: Authorization, "
	 "value: '${secret}', from: 'env:T'}\n",
	 "f.yaml:2:10: `*.a.example` cannot stay closed: the credential Authorization at "
	 "x.a.example could not be added; leave it out of `splice`"},
};

static void test_refused(void **state)
{
	char yaml[512];
	struct policy p;
	struct err e;

	for (size_t i = 0; i < sg_array_len(wrongs); i++) {
		snprintf(yaml, sizeof(yaml), "network: deny\n%s", wrongs[i].yaml);
		if (parse(yaml, &p, &e) == 0)
			fail_msg("is taken: %s", yaml);
		if (!strstr(e.text, wrongs[i].says))
			fail_msg("%s\nsays: %s\nand not: %s", yaml, e.text, wrongs[i].says);
	}
}

/* Each host apart, other ports, and names beside one another do not meet. */
static void test_taken(void **state)
{
	static const char *const rights[] = {
		"inspect: ['*.a.example']\nsplice: [x.a.example]\n",
		"inspect: all\nsplice: [x.a.example]\n",
		"inspect: [a.example]\nsplice: ['a.example:8443', 'xa.example', '*.a.example']\n",
		"splice: ['a.example:8443', 'x.a.example']\nallow: [{host: a.example, methods: [GET]}]\n",
		"splice: [a.example]\nallow: [{host: a.example, ports: [80], methods: [GET]}]\n",
		"splice: ['*.a.example']\nallow: [{host: a.example, methods: [GET]}]\n",
		"inspect: ['*.a.example:8443']\n"
		"allow: [{host: x.a.example, ports: [8443], methods: [GET]}]\n",
		"inspect: ['*.a.example:8443']\n"
		"allow: [{host: '*.x.a.example', ports: [80, 8443], paths: [/x]}]\n",
		"allow: [{host: a.example, ports: [8443], methods: [GET]}]\ncredentials:\n"
		"  - {host: a.example, port: 8443, header: X, value: '${secret}', from: 'env:T'}\n",
	};
	char yaml[512];
	struct policy p;

	for (size_t i = 0; i < sg_array_len(rights); i++) {
		snprintf(yaml, sizeof(yaml), "network: deny\n%s", rights[i]);
		use(yaml, &p);
		policy_free(&p);
	}
}

static void test_too_many(void **state)
{
	char *yaml = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&yaml, &n);
	struct policy p;
	struct err e;

	fputs("network: deny\ninspect:\n", to);
	for (unsigned i = 0; i <= HOST_LIST_MAX; i++)
		fprintf(to, "  - h%u.example\n", i);
	fclose(to);
	assert_int_equal(parse(yaml, &p, &e), -1);
	assert_non_null(strstr(e.text, "more than 1024 hosts"));
	free(yaml);
}

/* ---- What is known once it is resolved ---- */

static int resolve(const char *yaml, const char *organisation, struct err *e)
{
	struct organisation o = {0};
	struct policy_sources sources = {.catalogue = catalogue_builtin(), .organisation = &o};
	struct policy p;
	int rc;

	if (organisation &&
	    organisation_parse(span_of_string(organisation), "org", sources.catalogue, &o, e))
		fail_msg("%s", e->text);
	use(yaml, &p);
	rc = policy_resolve(&p, &sources, e);
	policy_free(&p);
	organisation_free(&o);
	return rc;
}

static void test_credentials_of_permissions(void **state)
{
	struct err e;

	assert_int_equal(resolve("network: deny\npermissions: ['github:as-you']\n"
				 "splice: [github.com]\n",
				 NULL, &e),
			 -1);
	assert_non_null(strstr(e.text, "`github.com` cannot stay closed: the credential"));
	assert_int_equal(
		resolve("network: deny\npermissions: [github]\nsplice: [github.com]\n", NULL, &e),
		0);
}

static void test_organisation(void **state)
{
	static const char deny[] = "{\"deny\":[{\"host\":\"*.a.example\",\"ports\":[443],"
				   "\"methods\":[\"PUT\"]}]}";
	struct organisation o;
	struct err e;

	assert_int_equal(resolve("network: open\nsplice: [x.a.example]\n", deny, &e), -1);
	assert_non_null(strstr(e.text, "the organisation's rule `*.a.example:443` is about"));
	assert_int_equal(resolve("network: open\nsplice: [x.b.example]\n", deny, &e), 0);
	assert_int_equal(resolve("splice: [github.com]\n", "{\"locked\":true}", &e), -1);
	assert_non_null(strstr(e.text, "is locked: `splice` would keep requests to github.com "
				       "from being judged; leave it out"));
	assert_int_equal(resolve("inspect: all\n", "{\"locked\":true}", &e), 0);
	assert_int_equal(
		organisation_parse(span_of_string("{\"allow\":[{\"host\":\"a.example\","
						  "\"ports\":[8443],\"methods\":[\"GET\"]}]}"),
				   "org", catalogue_builtin(), &o, &e),
		-1);
	assert_non_null(strstr(e.text, "`methods` on port 8443 cannot be held for everybody; "
				       "restrict to `ports: [80, 443]`"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_read_and_printed),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_survives),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_matches_on_the_dot),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_credentials_of_permissions),
		cmocka_unit_test(test_organisation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
