/* SPDX-License-Identifier: Apache-2.0 */
/* demands.md 13. Files: what is not understood is refused: file:line:column and what to write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/rule.h"

struct wrong {
	const char *text;
	const char *place; /* "line:column: " */
	const char *says;
};

static void assert_refused(const struct wrong *w, enum policy_syntax syntax)
{
	struct policy p, empty;
	char begin[64];
	struct err e;

	policy_init(&empty);
	snprintf(begin, sizeof(begin), "f:%s: ", w->place);
	if (policy_parse(span_of_string(w->text), syntax, "f", &p, &e) == 0)
		fail_msg("accepted: %s", w->text);
	if (strncmp(e.text, begin, strlen(begin)) != 0 || !strstr(e.text, w->says))
		fail_msg("%s\n  want: %s ... %s\n  got:  %s", w->text, begin, w->says, e.text);
	assert_memory_equal(&p, &empty, sizeof(p));
}

static void test_yaml_errors(void **state)
{
	static const struct wrong wrongs[] = {
		{"", "1:1", "the file is empty; to allow nothing, write `network: deny`"},
		{"# nothing\n", "1:1", "the file is empty"},
		{"- a\n", "1:1", "a list stands where a map belongs; write `key: value`"},
		{"allow:\n\t- a\n", "2:1", "indent with spaces"},
		{"deny\n", "1:1", "one value stands where a map belongs"},
		{"network: opne\n", "1:10", "`opne` is not a network; did you mean `open`?"},
		{"network: xyzzy\n", "1:10",
		 "write `any`, `deny`, `none`, `brokered`, or one of the presets"},
		{"network: fakenet\n", "1:10",
		 "needs the simulated internet, which is not in this"},
		{"network:\n", "1:9", "there is no value"},
		{"network: [deny]\n", "1:10", "a list stands where one value belongs"},
		{"alow: [a.example]\n", "1:1", "unknown key `alow`; did you mean `allow`?"},
		{"zzzzzz: 1\n", "1:1", "unknown key `zzzzzz`"},
		{"network: deny\nnetwork: any\n", "2:1",
		 "a second key `network`; the first is on line 1"},
		{"network: deny\nallow: []\n", "2:1", "an empty `allow` list allows nothing"},
		{"network: any\nallow: [a.example.com]\n", "1:10",
		 "contradicts the allow rule `a.example.com`"},
		{"network: none\nallow: [a.example.com]\n", "1:10", "`none` has no link at all"},
		{"network: none\nhost_ports: [80]\n", "1:10", "contradicts `host_ports`"},
		{"network: none\npublish: ['80:80']\n", "1:10", "contradicts `publish`"},
		{"allow: a.example.com\n", "1:8",
		 "one value stands where a list belongs; put it in brackets: `[...]`"},
		{"allow:\n  - a.example.com\n  - '*.com'\n", "3:5",
		 "`*.com`: `com` is a public suffix"},
		{"allow:\n  - [a]\n", "2:5", "a list stands where a rule belongs"},
		{"allow:\n  -\n", "2:4", "there is no value"},
		{"allow: ['a\\x']\n", "1:9", "`a\\x`: there is `\\` at octet 2"},
		{"allow: [\"a\\0b.example\"]\n", "1:9",
		 "`a\\x00b.example`: there is a NUL at octet 2"},
		{"allow: [*x]\n", "1:9", "an alias (`*`)"},
		{"allow: [&x a.example]\n", "1:9", "an anchor (`&`)"},
		{"allow: &x [a.example]\n", "1:8", "an anchor (`&`)"},
		{"network: !!str deny\n", "1:10", "a tag (`!`)"},
		{"allow: !x [a.example]\n", "1:8", "a tag (`!`)"},
		{"%YAML 1.1\n---\nnetwork: deny\n", "1:1", "a directive (`%`)"},
		{"%TAG ! tag:x,2000:\n---\nnetwork: deny\n", "1:1", "a directive (`%`)"},
		{"network: deny\n---\nnetwork: any\n", "2:1", "a second document"},
		{"? [a]\n: b\n", "1:3", "a key is one word"},
		{"<<: {a: b}\n", "1:1", "unknown key `<<`"},
		{"allow: [ 'a.example'\n", "2:1", "not YAML"},
		{"network: deny\n\tallow: x\n", "2:1", "not YAML"},
		{"network: \xff\n", "1:1", "not YAML"},
		{"[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]\n", "1:17", "nested too deep"},
		{"version: 2\n", "1:10",
		 "a policy of format version 2 needs a sandgate that knows version 2; this one knows "
		 "versions up to 1"},
		{"version: -1\n", "1:10", "`-1` is not a number from 0"},
		{"version: one\n", "1:10", "`one` is not a number"},
		{"permissions: install:rust\n", "1:14", "put it in brackets"},
		{"permissions: [Install]\n", "1:15",
		 "`Install` is no permission: an id is lower-case"},
		{"permissions: ['--github']\n", "1:15", "is no permission"},
		{"permissions: ['']\n", "1:15", "is no permission"},
		{"permissions: [a.example]\n", "1:15",
		 "`a.example` is a host and no permission; write it under `allow`"},
		{"permissions: [github, 'site:a']\n", "1:23", "write it under `allow`"},
		{"permissions: [time]\nnetwork: any\n", "2:10",
		 "contradicts the permission `time`"},
		{"network: none\npermissions: [time]\n", "1:10",
		 "contradicts the permission `time`"},
		{"resolved: {}\n", "1:1", "unknown key `resolved`"},
		{"tools: {}\n", "1:1", "`tools` is not in this version"},
		{"apps: []\n", "1:1", "`apps` is not in this version"},
		{"dns: maybe\n", "1:6", "write one of `on`, `off`"},
		{"dns: true\n", "1:6", "`true` is not known here"},
		{"dns_answers: syntetic\n", "1:14", "did you mean `synthetic`?"},
		{"dns_refusal: nxdomian\n", "1:14", "did you mean `nxdomain`?"},
		{"quic: yes\n", "1:7", "write one of `refuse`, `allow`"},
		{"ech: 1\n", "1:6", "write one of"},
		{"host_ports: 80\n", "1:13", "one value stands where a list belongs"},
		{"host_ports: [0]\n", "1:14", "`0` is not a number from 1 to 65535"},
		{"host_ports: [80, 65536]\n", "1:18", "`65536` is not a number"},
		{"host_ports: ['80']\n", "1:14", "`80` is not a number"},
		{"host_ports: [080]\n", "1:14", "`080` is not a number"},
		{"publish: [8080]\n", "1:11", "`8080` is not HOST:SANDBOX"},
		{"publish: ['8080:0']\n", "1:11", "is not HOST:SANDBOX"},
		{"publish: ['+80:80']\n", "1:11", "is not HOST:SANDBOX"},
		{"publish: ['80:80', '80:81']\n", "1:20", "port 80 of the host is published twice"},
		{"limits: {flow: 5}\n", "1:10", "did you mean `flows`?"},
		{"limits: {flows: 0}\n", "1:17", "is not a number from 1"},
		{"limits: {wildcard_name_length: 254}\n", "1:32", "is not a number from 1 to 253"},
		{"limits: {wildcard_label_length: 64}\n", "1:33", "is not a number from 1 to 63"},
		{"limits: {flows: -1}\n", "1:17", "is not a number"},
		{"limits: {bytes_out: 9223372036854775808}\n", "1:21", "is not a number"},
		{"limits: {bytes_out: 99999999999999999999}\n", "1:21", "is not a number"},
	};

	for (size_t i = 0; i < sg_array_len(wrongs); i++)
		assert_refused(&wrongs[i], POLICY_YAML);
}

static void test_errors_of_the_long_form(void **state)
{
	static const struct wrong wrongs[] = {
		{"allow:\n  - {ports: [80]}\n", "2:5", "the rule has no target"},
		{"allow:\n  - {host: a.example, address: 1.1.1.1}\n", "2:32", "a second target"},
		{"allow:\n  - {host: 1.1.1.1}\n", "2:12", "it is not a name; write `address:`"},
		{"allow:\n  - {host: 10.0.0.0/8}\n", "2:12", "it is not a name; write `network:`"},
		{"allow:\n  - {address: a.example}\n", "2:15",
		 "it is not an address; write `host:`"},
		{"allow:\n  - {address: 10.0.0.0/8}\n", "2:15", "write `network:`"},
		{"allow:\n  - {network: 10.0.0.1}\n", "2:15", "write `address:`"},
		{"allow:\n  - {network: 10.0.0.1/8}\n", "2:15",
		 "`10.0.0.1/8`: host bits are set; write `10.0.0.0/8`"},
		{"allow:\n  - {host: 'a.example:80'}\n", "2:12", "ports go in `ports`"},
		{"allow:\n  - {host: 'https://a.example/x'}\n", "2:12",
		 "it is a URL; the host part is `a.example`"},
		{"allow:\n  - {hots: a.example}\n", "2:6",
		 "unknown key `hots`; did you mean `host`?"},
		{"allow:\n  - {host: a.example, host: b.example}\n", "2:23", "a second key `host`"},
		{"allow:\n  - host: a.example\n    ports: [0]\n", "3:13",
		 "port `0` is not between"},
		{"allow:\n  - host: a.example\n    ports: [80, '5-2']\n", "3:17",
		 "backwards; write `2-5`"},
		{"allow:\n  - host: a.example\n    ports: []\n", "3:12",
		 "an empty list matches nothing"},
		{"allow:\n  - host: a.example\n    ports: ['*', 80]\n", "2:11",
		 "`*` is every port"},
		{"allow:\n  - host: a.example\n    ports: {a: b}\n", "3:12",
		 "a map stands where a list belongs"},
		{"allow:\n  - host: a.example\n    proto: tpc\n", "3:12", "did you mean `tcp`?"},
		{"allow:\n  - host: a.example\n    proto: [udp]\n", "2:11", "which UDP port?"},
		{"allow:\n  - host: a.example\n    methods: ['G ET']\n", "3:15",
		 "`G ET`: not a method of HTTP"},
		{"allow:\n  - host: a.example\n    ports: [80]\n    methods: [get]\n", "4:15",
		 "write `GET`"},
		{"allow:\n  - host: a.example\n    methods: GET\n", "3:14",
		 "one value stands where a list belongs"},
		{"allow:\n  - host: a.example\n    methods: []\n", "3:14",
		 "an empty list matches nothing"},
		{"allow:\n  - host: a.example\n    ports: [8080]\n    paths: [/x]\n", "2:5",
		 "`a.example:8080`: `paths` on port 8080 need the requests to be seen; write "
		 "`inspect: [\"a.example:8080\"]` too when it is HTTP over TLS, or restrict to "
		 "`ports: [80, 443]`"},
		{"deny: [b.example]\nallow:\n  - c.example\n  - host: '*.a.example'\n"
		 "    ports: [443, 8443]\n    methods: [GET]\n",
		 "4:5", "write `inspect: [\"*.a.example:8443\"]`"},
		{"allow: [b.example]\ndeny:\n  - host: a.example\n    ports: [8443]\n"
		 "    methods: [GET]\ninspect: ['*.a.example:8443', a.example]\n",
		 "3:5", "`methods` on port 8443 need the requests to be seen"},
		{"allow:\n  - host: a.example\n    ports: '*'\n    paths: [/x]\n", "2:11",
		 "write the ports one by one, such as `ports: [80, 443]`"},
		{"allow:\n  - host: a.example\n    ports: ['80-443']\n    paths: [/x]\n", "2:11",
		 "write the ports one by one"},
		{"allow:\n  - host: a.example\n    proto: udp\n    ports: [443]\n    paths: [/x]\n",
		 "2:11", "`paths` are of HTTP over TCP; leave `proto` out"},
		{"allow:\n  - host: a.example\n    proto: raw\n    methods: [GET]\n", "2:11",
		 "`methods` are of HTTP over TCP; leave `proto` out"},
		{"deny:\n  - host: a.example\n    methods: [GET]\n", "2:11",
		 "a denial without ports is of every port, and `methods` are not seen on all; write "
		 "`ports: [80, 443]`"},
		{"allow:\n  - network: 10.0.0.0/8\n    ports: [443]\n    methods: [GET]\n", "2:14",
		 "name the host"},
		{"allow:\n  - address: 1.1.1.1\n    ports: [80]\n    paths: [/x]\n", "2:14",
		 "name the host"},
		{"allow:\n  - host: a.example\n    ports: [80]\n    paths: [x]\n", "4:13",
		 "begins with `/` or `*`"},
		{"allow:\n  - host: a.example\n    ports: [80]\n    paths: ['/a%2fb']\n", "4:13",
		 "written decoded"},
		{"allow:\n  - host: a.example\n    ports: [80]\n    paths: [/a/../b]\n", "4:13",
		 "written decoded"},
		{"allow:\n  - host: a.example\n    ports: [80]\n    paths: ['/a b']\n", "4:13",
		 "visible ASCII"},
		{"allow:\n  - host: a.example\n    ports: [80]\n    paths: ['/*********']\n",
		 "4:13", "at most 8 `*`"},
		{"allow:\n  - host: a.example\n    private: yes\n", "3:14",
		 "`yes` is not `true` or `false`"},
		{"allow:\n  - address: 10.0.0.1\n    private: true\n", "2:14",
		 "needs no `private`"},
		{"deny:\n  - host: a.example\n    private: true\n", "2:11",
		 "leave it out of a deny"},
		{"allow:\n  - host: a.example\n    effect: deny\n", "3:13",
		 "the rule stands in the list `allow`; move it to `deny`"},
		{"allow:\n  - host: a.example\n    note: [x]\n", "3:11",
		 "a list stands where one value belongs"},
	};

	for (size_t i = 0; i < sg_array_len(wrongs); i++)
		assert_refused(&wrongs[i], POLICY_YAML);
}

static void test_json_errors(void **state)
{
	static const struct wrong wrongs[] = {
		{"", "1:1", "the file is empty"},
		{" \n ", "1:1", "the file is empty"},
		{"{", "1:2", "a key in double quotes"},
		{"{\"network\"}", "1:11", "a colon"},
		{"{\"network\":}", "1:12", "a value should stand here"},
		{"{\"network\":\"deny\"", "1:18", "a comma or `}`"},
		{"{\"network\":\"deny\",}", "1:19", "a key in double quotes"},
		{"{\"network\":\"deny\"} x", "1:20", "something follows the policy"},
		{"{'network':'deny'}", "1:2", "a key in double quotes"},
		{"{\"network\":deny}", "1:12", "strings stand in double quotes"},
		{"{\"network\":true}", "1:12", "`true` is not a string"},
		{"{\"network\":null}", "1:12", "there is no value"},
		{"// c\n{}", "1:1", "a value should stand here"},
		{"{\"allow\":[\"a.example\",]}", "1:23", "leave out the comma"},
		{"{\"allow\":[\"a.example\" \"b\"]}", "1:23", "a comma or `]`"},
		{"{\n  \"alow\": []\n}", "2:3", "unknown key `alow`; did you mean `allow`?"},
		{"{\"allow\":[],\"allow\":[]}", "1:2", "an empty `allow` list"},
		{"{\"dns\":\"on\",\n\"dns\":\"off\"}", "2:1",
		 "a second key `dns`; the first is on line 1"},
		{"{\"host_ports\":[\"80\"]}", "1:16", "`80` is not a number"},
		{"{\"host_ports\":[8e1]}", "1:16", "`8e1` is not a number"},
		{"{\"host_ports\":[080]}", "1:16", "not a value of JSON"},
		{"{\"allow\":[\"a\tb\"]}", "1:13", "a control character in a string"},
		{"{\"allow\":[\"a\\qb\"]}", "1:14", "not an escape of JSON"},
		{"{\"allow\":[\"a\\u12\"]}", "1:17", "four hexadecimal digits"},
		{"{\"allow\":[\"\\ud800x\"]}", "1:18", "half of a surrogate pair"},
		{"{\"allow\":[\"\\udc00\"]}", "1:18", "half of a surrogate pair"},
		{"{\"allow\":[\"a\xff\"]}", "1:13", "not UTF-8"},
		{"{\"allow\":[\"a\xed\xa0\x80\"]}", "1:13", "not UTF-8"},
		{"{\"allow\":[\"a", "1:13", "the string does not end"},
		{"{\"allow\":[\"\xc3\xbc\xc3\xbc\"", "1:15", "a comma or `]`"},
		{"{\"allow\":[\"a\\u0000b.example\"]}", "1:11", "there is a NUL at octet 2"},
		{"[[[[[[[[[[[[[[[[[[[[", "1:17", "nested too deep"},
	};

	for (size_t i = 0; i < sg_array_len(wrongs); i++)
		assert_refused(&wrongs[i], POLICY_JSON);
}

static void parse(const char *text, enum policy_syntax syntax, struct policy *p)
{
	struct err e;

	if (policy_parse(span_of_string(text), syntax, "f", p, &e))
		fail_msg("%s\n  %s", text, e.text);
}

static void assert_rule(const struct policy *p, size_t i, enum effect effect, const char *text)
{
	char got[RULE_TEXT_MAX];

	assert_true(i < p->n_rules);
	assert_int_equal(p->rules[i].effect, effect);
	assert_string_equal(rule_format(&p->rules[i], got), text);
}

/* Every key, in the form of policy.md 9 as far as it is in this version. */
static void test_a_whole_file(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf# a policy\n"
		"version: 1\n"
		"network: deny\n"
		"permissions: []\n"
		"allow:\n"
		"  - api.example.com\n"
		"  - host: db.example.com\n"
		"    ports: [5432]\n"
		"  - host: status.example.com\n"
		"    ports: [80]\n"
		"    methods: [GET, HEAD]\n"
		"    paths: [\"/v1/public/*\"]\n"
		"    note: what it is for\n"
		"  - {network: 10.20.0.0/16, ports: '22,1000-2000', proto: [tcp, udp]}\n"
		"  - {address: '2001:db8::1', effect: allow}\n"
		"  - {host: nas.example.com, private: true}\n"
		"  - {host: tls.example.com, ports: [443], proto: raw}\n"
		"deny: [tracker.example.com]\n"
		"dns: on\n"
		"dns_answers: synthetic\n"
		"dns_refusal: nxdomain\n"
		"quic: allow\n"
		"ech: refuse\n"
		"host_ports: [5432, 5432, 8000]\n"
		"publish: ['8080:3000', \"9090:9090\"]\n"
		"limits: {flows: 100, flows_per_second: 10, flows_burst: 20, wildcard_names_per_minute: 5,\n"
		"         wildcard_name_length: 90, wildcard_label_length: 20,\n"
		"         bytes_out: 1000000, bytes_out_per_host: 0}\n";
	struct policy p;

	parse(text, POLICY_YAML, &p);
	assert_int_equal(p.network, NET_DENY);
	assert_int_equal(p.n_rules, 8);
	assert_rule(&p, 0, EFFECT_ALLOW, "api.example.com");
	assert_rule(&p, 1, EFFECT_ALLOW, "db.example.com:5432");
	assert_rule(&p, 2, EFFECT_ALLOW, "status.example.com:80");
	assert_string_equal(p.rules[2].detail->methods[1], "HEAD");
	assert_null(p.rules[2].detail->methods[2]);
	assert_string_equal(p.rules[2].detail->paths[0], "/v1/public/*");
	assert_string_equal(p.rules[2].detail->note, "what it is for");
	assert_rule(&p, 3, EFFECT_ALLOW, "10.20.0.0/16:22,1000-2000/tcp+udp");
	assert_rule(&p, 4, EFFECT_ALLOW, "2001:db8::1");
	assert_true(p.rules[5].private_ok);
	assert_rule(&p, 6, EFFECT_ALLOW, "tls.example.com:443/raw");
	assert_rule(&p, 7, EFFECT_DENY, "tracker.example.com");
	assert_false(p.dns_off);
	assert_int_equal(p.dns_answers, DNS_ANSWERS_SYNTHETIC);
	assert_int_equal(p.dns_refusal, DNS_REFUSAL_NXDOMAIN);
	assert_true(p.quic_allow && p.ech_refuse);
	assert_int_equal(p.n_host_ports, 2);
	assert_int_equal(p.host_ports[1], 8000);
	assert_int_equal(p.n_publish, 2);
	assert_int_equal(p.publish[0].host, 8080);
	assert_int_equal(p.publish[0].sandbox, 3000);
	assert_int_equal(p.limits.flows, 100);
	assert_int_equal(p.limits.wildcard_names_per_minute, 5);
	assert_int_equal(p.limits.wildcard_name_length, 90);
	assert_int_equal(p.limits.wildcard_label_length, 20);
	assert_int_equal(p.limits.bytes_out, 1000000);
	policy_free(&p);
}

static void test_defaults(void **state)
{
	struct policy p;

	parse("dns: on\n", POLICY_YAML, &p);
	assert_int_equal(p.network, NET_STANDARD);
	assert_int_equal(p.limits.flows, 4096);
	assert_int_equal(p.limits.flows_per_second, 500);
	assert_int_equal(p.limits.flows_burst, 2000);
	assert_int_equal(p.limits.wildcard_names_per_minute, 64);
	assert_int_equal(p.limits.wildcard_name_length, 200);
	assert_int_equal(p.limits.wildcard_label_length, 63);
	policy_free(&p);
}

static void test_json_says_the_same(void **state)
{
	static const char yaml[] =
		"network: deny\n"
		"allow: [a.example, {host: b.example, ports: [22, '30-40'], note: \"\\u00fc\\n\"}]\n"
		"limits: {flows: 7}\n";
	static const char json[] =
		"{\"network\" : \"deny\", \"allow\":[\"\\u0061.example\",\n"
		"{\"host\":\"b.example\",\"ports\":[22,\"30-40\"],\"note\":\"\\u00fc\\n\"}],"
		"\"limits\":{\"flows\":7}}\r\n";
	struct policy a, b;
	char *one, *two;

	parse(yaml, POLICY_YAML, &a);
	parse(json, POLICY_JSON, &b);
	one = policy_print_json(&a);
	two = policy_print_json(&b);
	assert_string_equal(one, two);
	free(one);
	free(two);
	policy_free(&a);
	policy_free(&b);
}

/* In their order, each once with the last word; what takes away goes with any base. */
static void test_permissions(void **state)
{
	struct policy p;
	char *text;

	parse("permissions: [install:rust, -error-reports, github:as-you, install:rust]\n",
	      POLICY_YAML, &p);
	text = policy_print_json(&p);
	assert_string_equal(text, "{\"version\":1,\"permissions\":[\"-error-reports\","
				  "\"github:as-you\",\"install:rust\"]}");
	free(text);
	policy_free(&p);
	parse("{\"permissions\":[\"time\",\"-time\"],\"network\":\"any\"}", POLICY_JSON, &p);
	assert_string_equal(p.permissions[0], "-time");
	assert_null(p.permissions[1]);
	policy_free(&p);
	for (enum network_base b = 0; b < NET_BASES; b++) {
		struct err e;

		policy_init(&p);
		assert_int_equal(policy_set_network(&p, network_base_name(b), &e),
				 b == NET_FAKENET ? -1 : 0);
		policy_free(&p);
	}
}

static void test_print_is_canonical(void **state)
{
	static const char canonical[] =
		"{\"version\":1,\"network\":\"deny\",\"allow\":[\"*.example.com\",\"[2001:db8::1]:443\","
		"{\"host\":\"a.example.com\",\"ports\":\"80\",\"methods\":[\"GET\"],\"paths\":[\"/x*\"],"
		"\"note\":\"n\"},{\"host\":\"*.b.example.com\",\"ports\":\"*\",\"private\":true},"
		"{\"network\":\"10.0.0.0/8\",\"proto\":\"udp\",\"note\":\"n\"}],"
		"\"deny\":[\"x.example.com:1-2/tcp\"],\"dns\":\"off\",\"host_ports\":[1],"
		"\"publish\":[\"2:3\"],\"limits\":{\"flows\":9,\"wildcard_name_length\":90,"
		"\"wildcard_label_length\":20}}";
	struct policy p;
	char *text;

	parse(canonical, POLICY_JSON, &p);
	text = policy_print_json(&p);
	assert_string_equal(text, canonical);
	free(text);
	policy_free(&p);
	policy_init(&p);
	text = policy_print_json(&p);
	assert_string_equal(text, "{\"version\":1}");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yaml_errors), cmocka_unit_test(test_errors_of_the_long_form),
		cmocka_unit_test(test_json_errors), cmocka_unit_test(test_a_whole_file),
		cmocka_unit_test(test_defaults),    cmocka_unit_test(test_json_says_the_same),
		cmocka_unit_test(test_permissions), cmocka_unit_test(test_print_is_canonical),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
