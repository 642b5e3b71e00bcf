/* SPDX-License-Identifier: Apache-2.0 */
/* explain, its targets and its two renderers; remedies that do what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "little_catalogue.h"
#include "policy/explain.h"
#include "policy/permission.h"

static struct ruleset *compile(const char *yaml)
{
	struct ruleset *rs;
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "f", &p, &e))
		fail_msg("%s", e.text);
	rs = ruleset_compile(&p, 7, &e);
	policy_free(&p);
	assert_non_null(rs);
	assert_int_equal(ruleset_generation(rs), 7);
	return rs;
}

static void parse_target(const char *text, struct explain_target *t)
{
	struct err e;

	if (explain_parse_target(text, t, &e))
		fail_msg("%s", e.text);
}

static void assert_target(const char *text, const char *host, uint16_t port, enum proto proto,
			  const char *path)
{
	char addr[ADDR_TEXT_MAX];
	struct explain_target t;

	parse_target(text, &t);
	assert_true(t.has_name != t.has_addr);
	assert_string_equal(t.has_name ? t.name.s : addr_format(&t.addr, addr), host);
	assert_int_equal(t.port, port);
	assert_int_equal(t.proto, proto);
	assert_string_equal(t.path, path);
	assert_string_equal(t.method, *path ? "GET" : "");
}

static void test_targets(void **state)
{
	assert_target("https://api.github.com/repos/x/y", "api.github.com", 443, PROTO_TCP,
		      "/repos/x/y");
	assert_target("https://api.github.com", "api.github.com", 443, PROTO_TCP, "/");
	assert_target("http://A.example/x?y#z", "a.example", 80, PROTO_TCP, "/x?y");
	assert_target("http://a.example", "a.example", 80, PROTO_TCP, "/");
	assert_target("http://a.example?q", "a.example", 80, PROTO_TCP, "/?q");
	assert_target("http://a.example:8080/x", "a.example", 8080, PROTO_TCP, "/x");
	assert_target("wss://a.example/socket", "a.example", 443, PROTO_TCP, "/socket");
	assert_target("https://[2001:db8::1]:8443/", "2001:db8::1", 8443, PROTO_TCP, "/");
	assert_target("db.example.com:5432", "db.example.com", 5432, PROTO_TCP, "");
	assert_target("10.0.0.5:22/tcp", "10.0.0.5", 22, PROTO_TCP, "");
	assert_target("10.0.0.5:53/udp", "10.0.0.5", 53, PROTO_UDP, "");
	assert_target("10.0.0.5/icmp", "10.0.0.5", 0, PROTO_ICMP, "");
	assert_target("a.example", "a.example", 443, PROTO_TCP, "");
	assert_target("2001:db8::1", "2001:db8::1", 443, PROTO_TCP, "");
	assert_target("[2001:db8::1]:22", "2001:db8::1", 22, PROTO_TCP, "");
	/* what no rule may name can still be asked about */
	assert_target("127.0.0.1:80", "127.0.0.1", 80, PROTO_TCP, "");
	assert_target("64:ff9b::a00:1", "64:ff9b::a00:1", 443, PROTO_TCP, "");
}

static void test_targets_refused(void **state)
{
	static const char *const wrong[][2] = {
		{"", "it is empty"},
		{"ftp://a.example/", "only http, https, ws and wss"},
		{"http://u@a.example/", "a user name before the host"},
		{"http://exa mple.com", "there is a space"},
		{"http://a.example/a b", "percent-encoded"},
		{"*.example.com", "a destination is one host"},
		{"10.0.0.0/8", "a destination is one host"},
		{"a.example:1-2", "a destination has one port"},
		{"a.example:*", "a destination has one port"},
		{"a.example:0", "is not between 1 and 65535"},
		{"a.example/udp", "which UDP port?"},
		{"a.example:80/raw", "a destination has one protocol"},
		{"a.example:80/tcp+udp", "a destination has one protocol"},
		{"a.example:7/icmp", "ICMP has no ports"},
		{"127.1", "write `127.0.0.1`"},
		{"[10.0.0.1]:80", "brackets are for IPv6"},
		{"a..b", "a label is empty"},
	};
	struct explain_target t;
	struct err e;

	for (size_t i = 0; i < sg_array_len(wrong); i++) {
		if (explain_parse_target(wrong[i][0], &t, &e) == 0)
			fail_msg("accepted: %s", wrong[i][0]);
		if (!strstr(e.text, wrong[i][1]))
			fail_msg("%s\n  want: %s\n  got:  %s", wrong[i][0], wrong[i][1], e.text);
	}
}

static void test_method(void **state)
{
	struct explain_target t;
	struct err e;

	parse_target("https://a.example/x", &t);
	assert_int_equal(explain_set_method("POST", &t, &e), 0);
	assert_string_equal(t.method, "POST");
	assert_int_equal(explain_set_method("post", &t, &e), -1);
	assert_string_equal(e.text, "`post`: methods are in capitals; write `POST`");
	assert_int_equal(explain_set_method("G ET", &t, &e), -1);
	parse_target("a.example:443", &t);
	assert_int_equal(explain_set_method("POST", &t, &e), -1);
	assert_string_equal(
		e.text, "`POST` is the method of a request; write its URL, `https://a.example/`");
}

static void explain(const struct ruleset *rs, const char *target, struct explanation *x)
{
	struct explain_target t;

	parse_target(target, &t);
	explain_decide(rs, NULL, &(struct remedy_for){0}, &t, x);
}

static void test_json_has_the_documented_keys(void **state)
{
	struct ruleset *rs =
		compile("network: deny\nallow: ['*.example.com', 'db.example.org:5432']\n");
	struct explanation x;
	char *text;

	explain(rs, "https://api.example.com/x", &x);
	text = explain_print_json(&x);
	assert_string_equal(text, "{\"verdict\":\"allow\",\"step\":3,\"rule\":\"*.example.com\","
				  "\"permission\":null,\"reason\":\"allowed\",\"remedy\":null,"
				  "\"note\":\"its requests are not seen: method and path are not "
				  "looked at\","
				  "\"name\":\"api.example.com\","
				  "\"address\":null,\"port\":443,\"proto\":\"tcp\",\"method\":null,"
				  "\"path\":null,\"inspected\":null,\"operation\":null,"
				  "\"operation_of\":null,\"credential\":null}");
	free(text);
	explain(rs, "db.example.org:22", &x);
	text = explain_print_json(&x);
	assert_string_equal(text,
			    "{\"verdict\":\"deny\",\"step\":6,\"rule\":\"db.example.org:5432\","
			    "\"permission\":null,\"reason\":\"port-not-allowed\","
			    "\"remedy\":\"sandgate run --allow db.example.org:22 ...\","
			    "\"note\":null,"
			    "\"name\":\"db.example.org\",\"address\":null,\"port\":22,"
			    "\"proto\":\"tcp\",\"method\":null,\"path\":null,"
			    "\"inspected\":null,\"operation\":null,\"operation_of\":null,"
			    "\"credential\":null}");
	free(text);
	ruleset_free(rs);
}

static void test_text_is_for_a_person(void **state)
{
	struct ruleset *rs = compile("network: deny\nallow: [10.1.0.0/16]\n");
	struct explanation x;
	char *text, want[1024];

	explain(rs, "10.0.0.5:22", &x);
	text = explain_print_text(&x);
	snprintf(want, sizeof(want),
		 "deny    10.0.0.5, port 22, tcp\nreason  special-address: %s\n"
		 "step    2, special addresses\nnote    10.0.0.5 is private (RFC 1918)\n"
		 "remedy  sandgate run --allow 10.0.0.5:22 ...\n",
		 reason_sentence(REASON_SPECIAL_ADDRESS));
	assert_string_equal(text, want);
	free(text);
	explain(rs, "10.1.0.5/icmp", &x);
	text = explain_print_text(&x);
	assert_string_equal(text, "allow   10.1.0.5, icmp\n"
				  "step    3, own rules\n"
				  "rule    10.1.0.0/16\n");
	free(text);
	ruleset_free(rs);
}

/* ---- Permissions and the organisation ---- */

static const char organisation_text[] = "{\"deny\": [\"*.evil.example\"]}";

static struct ruleset *compile_resolved(const char *yaml)
{
	struct organisation o;
	struct policy_sources s = {.catalogue = &little_catalogue, .organisation = &o};
	struct ruleset *rs;
	struct policy p;
	struct err e;

	if (organisation_parse(span_of_string(organisation_text), "o", &little_catalogue, &o, &e) ||
	    policy_parse(span_of_string(yaml), POLICY_YAML, "f", &p, &e) ||
	    policy_resolve(&p, &s, &e))
		fail_msg("%s", e.text);
	rs = ruleset_compile(&p, 1, &e);
	policy_free(&p);
	organisation_free(&o);
	assert_non_null(rs);
	return rs;
}

static void explain_with_catalogue(const struct ruleset *rs, const char *target,
				   struct explanation *x)
{
	struct explain_target t;

	parse_target(target, &t);
	explain_decide(rs, NULL, &(struct remedy_for){.catalogue = &little_catalogue}, &t, x);
}

static void test_a_permission_is_named(void **state)
{
	struct ruleset *rs = compile_resolved("network: standard");
	struct explanation x;
	char *text;

	explain_with_catalogue(rs, "https://github.example/a/b", &x);
	assert_true(x.verdict.allow);
	assert_string_equal(x.permission, "github");
	text = explain_print_text(&x);
	assert_string_equal(
		text, "allow   github.example, port 443, tcp\n"
		      "request GET /a/b\n"
		      "step    5, permissions\n"
		      "rule    github.example of permission github\n"
		      "inspect its requests are seen: the permission is for some operations only\n"
		      "note    as long as the name resolves to a public address\n");
	free(text);
	text = explain_print_json(&x);
	assert_non_null(strstr(text, "\"rule\":\"github.example\",\"permission\":\"github\""));
	free(text);
	/* of no request in particular */
	explain_with_catalogue(rs, "github.example", &x);
	assert_int_equal(x.inspects, INSPECTS_OPERATIONS);
	assert_string_equal(x.note, "each request is judged by its method and path");
	/* a permission without operations lets everything through */
	explain_with_catalogue(rs, "crash.example", &x);
	assert_string_equal(x.permission, "error-reports");
	assert_string_equal(x.note, "as long as the name resolves to a public address");
	/* what nearly matched is named as well */
	explain_with_catalogue(rs, "github.example:22", &x);
	assert_false(x.verdict.allow);
	assert_int_equal(x.verdict.reason, REASON_PORT_NOT_ALLOWED);
	assert_string_equal(x.permission, "github");
	assert_string_equal(x.note, "");
	ruleset_free(rs);
}

/* Inside TLS a rule about requests is held as in plain HTTP. */
static void test_requests_inside_tls(void **state)
{
	struct ruleset *rs =
		compile("network: deny\n"
			"allow:\n"
			"  - {host: get.example.org, methods: [GET], paths: [/a]}\n"
			"  - {host: all.example.org}\n"
			"deny: [{host: all.example.org, ports: [443], methods: [PUT]}]\n"
			"inspect: [seen.example.org]\n");
	struct explain_target t;
	struct explanation x;
	struct err e;

	explain(rs, "https://get.example.org/a", &x);
	assert_true(x.verdict.allow);
	assert_int_equal(x.inspects, INSPECTS_RULES);
	assert_string_equal(x.target.path, "/a");
	explain(rs, "https://get.example.org/b", &x);
	assert_int_equal(x.verdict.reason, REASON_PATH_NOT_ALLOWED);
	explain(rs, "get.example.org", &x);
	assert_true(x.verdict.allow);
	assert_string_equal(x.note, "each request is judged by its method and path");
	parse_target("https://all.example.org/", &t);
	assert_int_equal(explain_set_method("PUT", &t, &e), 0);
	explain_decide(rs, NULL, &(struct remedy_for){0}, &t, &x);
	assert_int_equal(x.verdict.reason, REASON_DENIED_BY_RULE);
	/* that it is seen admits nothing */
	explain(rs, "https://seen.example.org/", &x);
	assert_int_equal(x.verdict.reason, REASON_NOT_IN_POLICY);
	ruleset_free(rs);
}

static void test_own_rules_and_the_organisation_come_first(void **state)
{
	struct ruleset *rs =
		compile_resolved("{allow: [github.example, a.evil.example],"
				 " deny: ['*.anthropic.example', api.github.example]}");
	struct explanation x;
	char *text;

	explain_with_catalogue(rs, "github.example", &x);
	assert_int_equal(x.verdict.step, 3);
	assert_string_equal(x.permission, "");
	explain_with_catalogue(rs, "api.github.example", &x);
	assert_int_equal(x.verdict.step, 3);
	assert_int_equal(x.verdict.reason, REASON_DENIED_BY_RULE);
	explain_with_catalogue(rs, "a.evil.example", &x);
	text = explain_print_text(&x);
	assert_non_null(strstr(text, "step    4, the organisation\nrule    *.evil.example\n"));
	assert_null(strstr(text, "remedy"));
	free(text);
	ruleset_free(rs);
}

/* demands.md 8 and 14: the same questions as the data plane's, in the same order. */
static void test_the_first_refusal_is_told(void **state)
{
	struct ruleset *rs =
		compile("network: deny\n"
			"allow:\n"
			"  - '*.example.com'\n"
			"  - {host: get.example.org, ports: [80], methods: [GET], paths: [/a]}\n"
			"deny: [no.example.com]\n");
	struct explanation x;

	explain(rs, "example.com", &x);
	assert_int_equal(x.verdict.reason, REASON_NOT_IN_POLICY);
	explain(rs, "no.example.com:22", &x);
	assert_int_equal(x.verdict.reason, REASON_DENIED_BY_RULE);
	assert_string_equal(x.rule, "no.example.com");
	assert_string_equal(x.remedy, "");
	explain(rs, "http://get.example.org/a", &x);
	assert_true(x.verdict.allow);
	explain(rs, "http://get.example.org/b", &x);
	assert_int_equal(x.verdict.reason, REASON_PATH_NOT_ALLOWED);
	explain(rs, "get.example.org:80", &x);
	assert_true(x.verdict.allow);
	assert_string_equal(x.note, "each request is judged by its method and path");
	explain(rs, "https://get.example.org/a", &x);
	assert_int_equal(x.verdict.reason, REASON_PORT_NOT_ALLOWED);
	explain(rs, "x.example.com:53/udp", &x);
	assert_string_equal(x.note, "whatever the address, port 53 is answered by the gate itself");
	assert_string_equal(x.remedy, "");
	ruleset_free(rs);
}

/* The item of a remedy, "db.example.com:5432" of "sandgate run --allow db.example.com:5432 ...". */
static void item_of(const char *remedy, char *out, size_t size)
{
	const char *at = strstr(remedy, " --allow ");

	if (!at)
		fail_msg("no --allow in %s", remedy);
	snprintf(out, size, "%.*s", (int)strcspn(at + 9, " "), at + 9);
}

/* demands.md 5 and 61: the remedy names the port, and following it lets the destination through. */
static void test_remedies_work(void **state)
{
	static const char *const targets[] = {
		"www.example.com",
		"www.example.com:80",
		"db.example.com:5432",
		"ntp.example.com:123/udp",
		"ping.example.com/icmp",
		"93.184.216.34:22",
		"93.184.216.34:5353/udp",
		"93.184.216.34/icmp",
		"10.0.0.5:22",
		"169.254.169.254:80",
		"[2a00::1]:22",
		"[fd00::1]:443",
		"2a00::1/icmp",
		"allowed.example.com:22",
		"allowed.example.com:443/udp",
		"dns.quad9.net",
		"http://get.example.org/b",
	};
	static const char yaml[] = "network: deny\nallow: [allowed.example.com, '*.quad9.net',"
				   "{host: get.example.org, ports: [80], paths: [/a]}]\n";
	struct ruleset *rs = compile(yaml);

	for (size_t i = 0; i < sg_array_len(targets); i++) {
		struct explanation x;
		struct ruleset *wider;
		struct policy p;
		struct err e;
		char item[512];

		explain(rs, targets[i], &x);
		assert_false(x.verdict.allow);
		item_of(x.remedy, item, sizeof(item));
		assert_int_equal(policy_parse(span_of_string(yaml), POLICY_YAML, "f", &p, &e), 0);
		if (policy_add_item(&p, NULL, EFFECT_ALLOW, item, &e))
			fail_msg("%s: %s", targets[i], e.text);
		wider = ruleset_compile(&p, 1, &e);
		policy_free(&p);
		explain(wider, targets[i], &x);
		if (!x.verdict.allow)
			fail_msg("%s: %s does not help", targets[i], item);
		ruleset_free(wider);
	}
	ruleset_free(rs);
}

static const char *remedy_of(const struct remedy_for *who, const char *target, enum reason r,
			     char out[REMEDY_MAX])
{
	struct explain_target t;
	struct destination d;

	parse_target(target, &t);
	d = (struct destination){.kind = DEST_CONNECT,
				 .name = t.has_name ? &t.name : NULL,
				 .addr = t.has_addr ? &t.addr : NULL,
				 .port = t.port,
				 .proto = t.proto};
	return remedy_format(who, &d, r, out);
}

static const struct remedy_for box = {.sandbox = "box"};

static void test_remedies_of_the_data_plane(void **state)
{
	char out[REMEDY_MAX];

	assert_string_equal(remedy_of(&box, "a.example:443", REASON_NOT_TLS, out),
			    "sandgate net allow box site:a.example:443/raw");
	assert_string_equal(remedy_of(&box, "a.example:80", REASON_NOT_HTTP, out),
			    "sandgate net allow box site:a.example:80/raw");
	assert_string_equal(remedy_of(&box, "a.example:443", REASON_NO_SERVER_NAME, out),
			    "sandgate net allow box site:a.example:443/raw");
	assert_string_equal(remedy_of(&box, "a.example", REASON_NOT_IN_POLICY, out),
			    "sandgate net allow box site:a.example");
	assert_string_equal(remedy_of(&box, "a.example:22", REASON_PORT_NOT_ALLOWED, out),
			    "sandgate net allow box site:a.example:22");
	assert_string_equal(remedy_of(&box, "10.0.0.5:22", REASON_SPECIAL_ADDRESS, out),
			    "sandgate net allow box 10.0.0.5:22");
	/* where no command alone would do there is none */
	assert_string_equal(remedy_of(&box, "a.example", REASON_DENIED_BY_RULE, out), "");
	assert_string_equal(remedy_of(&box, "a.example", REASON_SPECIAL_ADDRESS, out), "");
	assert_string_equal(remedy_of(&box, "a.example", REASON_LIMIT_FLOWS, out), "");
	assert_string_equal(remedy_of(&box, "1.1.1.1", REASON_NOT_TLS, out), "");
	assert_string_equal(remedy_of(&box, "a.example", REASON_MALFORMED_TLS, out), "");
}

/* A link where there was none, and a port of the host: no change of a policy gives them. */
static void test_remedies_that_need_a_new_start(void **state)
{
	char out[REMEDY_MAX];

	assert_string_equal(remedy_of(&box, "a.example", REASON_NETWORK_NONE, out),
			    "sandgate run --name box --net deny --allow a.example ...");
	assert_string_equal(
		remedy_of(&box, "host.sandgate.internal:5432", REASON_PORT_NOT_ALLOWED, out),
		"sandgate run --name box --host-port 5432 ...");
}

static void test_remedies_without_a_sandbox(void **state)
{
	static const struct remedy_for nobody = {.sandbox = NULL};
	char out[REMEDY_MAX];

	assert_string_equal(remedy_of(&nobody, "a.example:22", REASON_NOT_IN_POLICY, out),
			    "sandgate run --allow a.example:22 ...");
	/* a host of one label is never a permission */
	assert_string_equal(remedy_of(&nobody, "github", REASON_NOT_IN_POLICY, out),
			    "sandgate run --allow site:github ...");
	assert_string_equal(remedy_of(&nobody, "db:5432", REASON_NOT_IN_POLICY, out),
			    "sandgate run --allow site:db:5432 ...");
}

static void test_remedies_by_permission(void **state)
{
	char *on[] = {"github", NULL};
	const struct remedy_for who = {
		.sandbox = "box", .catalogue = catalogue_builtin(), .on = on};
	const struct remedy_for nobody = {.catalogue = catalogue_builtin()};
	char out[REMEDY_MAX];

	assert_string_equal(remedy_of(&who, "pypi.org", REASON_NOT_IN_POLICY, out),
			    "sandgate net allow box install:python");
	assert_string_equal(remedy_of(&nobody, "https://github.com/x/y", REASON_NOT_IN_POLICY, out),
			    "sandgate run --allow github ...");
	assert_string_equal(remedy_of(&nobody, "pypi.org", REASON_NETWORK_NONE, out),
			    "sandgate run --net deny --allow install:python ...");
	/* what a permission does not cover is the host's own */
	assert_string_equal(remedy_of(&who, "pypi.org:22", REASON_NOT_IN_POLICY, out),
			    "sandgate net allow box site:pypi.org:22");
	assert_string_equal(remedy_of(&who, "pypi.org", REASON_NOT_TLS, out),
			    "sandgate net allow box site:pypi.org:443/raw");
	/* never what writes or uses a credential */
	assert_string_equal(remedy_of(&who, "upload.pypi.org", REASON_NOT_IN_POLICY, out),
			    "sandgate net allow box site:upload.pypi.org");
	assert_string_equal(remedy_of(&who, "uploads.github.com", REASON_NOT_IN_POLICY, out),
			    "sandgate net allow box site:uploads.github.com");
	assert_string_equal(remedy_of(&who, "codeload.github.com", REASON_NOT_IN_POLICY, out),
			    "sandgate net allow box site:codeload.github.com");
}

/* Each permission that is proposed is one that the item of `net allow` takes. */
static void test_permission_remedies_work(void **state)
{
	static const char *const targets[] = {"index.crates.io", "pool.ntp.org:123/udp",
					      "deb.nodesource.com", "de.archive.ubuntu.com:80",
					      "api.anthropic.com"};
	const struct remedy_for who = {.sandbox = "box", .catalogue = catalogue_builtin()};

	for (size_t i = 0; i < sg_array_len(targets); i++) {
		char out[REMEDY_MAX];
		const char *item;
		struct policy p;
		struct err e;

		remedy_of(&who, targets[i], REASON_NOT_IN_POLICY, out);
		item = strrchr(out, ' ') + 1;
		policy_init(&p);
		if (policy_add_item(&p, catalogue_builtin(), EFFECT_ALLOW, item, &e))
			fail_msg("%s: %s", out, e.text);
		assert_true((p.permissions != NULL) == (strstr(item, "site:") == NULL));
		policy_free(&p);
	}
}

/* The longest name and every reason: nothing is cut, everything has a word. */
static void test_every_reason(void **state)
{
	char text[300], out[REMEDY_MAX];

	for (size_t i = 0; i < 253; i++)
		text[i] = i % 50 == 49 ? '.' : 'a';
	memcpy(text + 253, ":65535/udp", 11);
	for (int r = 0; r < REASONS; r++) {
		const char *cut = remedy_of(&box, text, (enum reason)r, out);

		assert_true(strlen(reason_word((enum reason)r)) > 3);
		assert_true(strlen(reason_sentence((enum reason)r)) > 8);
		assert_true(*cut == 0 || strstr(cut, " ...") || strstr(cut, "net allow box "));
	}
	assert_string_equal(reason_word(REASON_SNI_MISMATCH), "sni-mismatch");
	assert_string_equal(reason_word(REASON_GATE_DOWN), "gate-down");
	assert_string_equal(reason_word(REASONS), "unknown");
}

static void test_rules_are_described(void **state)
{
	static const char *const says[][2] = {
		{"example.com",
		 "example.com, tcp on ports 80, 443; on 80 and 443 the name inside is checked"},
		{"*.example.com:22", "every name below example.com, tcp on port 22"},
		{"10.0.0.0/8", "network 10.0.0.0/8, every port and protocol"},
		{"[2001:db8::1]:443", "address 2001:db8::1, tcp on port 443"},
		{"a.example.com:443/raw",
		 "a.example.com, tcp on port 443; nothing inside is checked"},
		{"a.example.com:*/udp", "a.example.com, udp on every port"},
		{"a.example.com/icmp", "a.example.com, icmp"},
		{"a.example.com:53/tcp+udp", "a.example.com, tcp and udp on port 53"},
		{"a.example.com:*",
		 "a.example.com, every port and protocol; on 80 and 443 the name inside is checked"},
	};
	char text[RULE_TEXT_MAX];
	struct policy p;
	struct err e;

	policy_init(&p);
	for (size_t i = 0; i < sg_array_len(says); i++) {
		assert_int_equal(policy_add_rule(&p, EFFECT_ALLOW, says[i][0], &e), 0);
		assert_string_equal(rule_describe(&p.rules[i], text), says[i][1]);
	}
	policy_free(&p);
}

/* `brokered`: what is asked is whether the proxy port leads there. */
static void test_through_the_proxy_port(void **state)
{
	struct ruleset *rs =
		compile("network: brokered\nallow: [api.example.com, 'dns.example.com:53/udp', "
			"10.0.0.5]\nhost_ports: [3128, 8080]\n");
	static const struct {
		const char *target;
		enum reason reason;
	} rows[] = {
		{"https://api.example.com/", REASON_NONE},
		{"10.0.0.5:22", REASON_NONE},
		{"host.sandgate.internal:8080", REASON_NONE},
		{"gateway.sandgate.internal:3128", REASON_NONE},
		{"gateway.sandgate.internal:1080", REASON_NONE},
		{"api.example.com:22", REASON_PORT_NOT_ALLOWED},
		{"api.example.com:443/udp", REASON_PROXY_ONLY},
		{"10.0.0.5:5000/udp", REASON_PROXY_ONLY},
		{"10.0.0.5/icmp", REASON_PROXY_ONLY},
		{"other.example.com", REASON_NOT_IN_POLICY},
		{"gateway.sandgate.internal:22", REASON_PORT_NOT_ALLOWED},
		{"gateway.sandgate.internal:3128/udp", REASON_PORT_NOT_ALLOWED},
		/* the proxy port has the address */
		{"host.sandgate.internal:3128", REASON_PORT_NOT_ALLOWED},
	};
	struct explanation x;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		explain(rs, rows[i].target, &x);
		if (x.verdict.reason != rows[i].reason)
			fail_msg("%s: %s", rows[i].target, reason_word(x.verdict.reason));
	}
	explain(rs, "https://api.example.com/", &x);
	assert_non_null(strstr(x.note, "through the proxy port only; as long as"));
	explain(rs, "host.sandgate.internal:8080", &x);
	assert_string_equal(x.note, "a port of the host's own loopback");
	explain(rs, "gateway.sandgate.internal:1080", &x);
	assert_string_equal(x.note, "the proxy port, which judges what it is asked for");
	ruleset_free(rs);
}

/* Elsewhere a listed port of the host is reached in its place, and the name can be denied. */
static void test_the_gateway_elsewhere(void **state)
{
	struct ruleset *rs = compile("network: deny\nhost_ports: [3128]\n");
	struct explanation x;

	explain(rs, "host.sandgate.internal:3128", &x);
	assert_true(x.verdict.allow);
	explain(rs, "gateway.sandgate.internal:1080", &x);
	assert_true(x.verdict.allow);
	explain(rs, "gateway.sandgate.internal:22", &x);
	assert_int_equal(x.verdict.reason, REASON_PORT_NOT_ALLOWED);
	assert_string_equal(x.remedy, "");
	ruleset_free(rs);
	rs = compile("network: deny\ndeny: [gateway.sandgate.internal]\n");
	explain(rs, "gateway.sandgate.internal:3128", &x);
	assert_int_equal(x.verdict.reason, REASON_DENIED_BY_RULE);
	ruleset_free(rs);
	rs = compile("network: none\n");
	explain(rs, "gateway.sandgate.internal:3128", &x);
	assert_int_equal(x.verdict.reason, REASON_NETWORK_NONE);
	ruleset_free(rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_through_the_proxy_port),
		cmocka_unit_test(test_the_gateway_elsewhere),
		cmocka_unit_test(test_targets_refused),
		cmocka_unit_test(test_method),
		cmocka_unit_test(test_json_has_the_documented_keys),
		cmocka_unit_test(test_text_is_for_a_person),
		cmocka_unit_test(test_a_permission_is_named),
		cmocka_unit_test(test_requests_inside_tls),
		cmocka_unit_test(test_own_rules_and_the_organisation_come_first),
		cmocka_unit_test(test_the_first_refusal_is_told),
		cmocka_unit_test(test_remedies_work),
		cmocka_unit_test(test_remedies_of_the_data_plane),
		cmocka_unit_test(test_remedies_that_need_a_new_start),
		cmocka_unit_test(test_remedies_without_a_sandbox),
		cmocka_unit_test(test_remedies_by_permission),
		cmocka_unit_test(test_permission_remedies_work),
		cmocka_unit_test(test_every_reason),
		cmocka_unit_test(test_rules_are_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
