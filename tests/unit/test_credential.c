/* SPDX-License-Identifier: Apache-2.0 */
/* docs/policy.md, "Credentials": what a policy may say of secrets, and what it refuses with which
 * words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy/credential_personal.h"
#include "policy/credential_use.h"
#include "policy/change.h"
#include "policy/permission.h"
#include "policy/decide.h"
#include "policy/print_yaml.h"
#include "policy/secret_text.h"

#define PREFIX "credentials:\n  - "
#define OK     "host: a.example, header: X-Key, value: '${secret}', from: 'env:T'"

static int read_entry(const char *entry, struct policy *p, struct err *e)
{
	char text[4096];

	snprintf(text, sizeof(text), PREFIX "{%s}\n", entry);
	return policy_parse(span_of_string(text), POLICY_YAML, "f", p, e);
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *entry;
		const char *place, *says;
	} rows[] = {
		{"host: a.example, header: X-Key, from: 'env:T'", "2:23",
		 "`header` without `value`"},
		{"header: X-Key, value: '${secret}', from: 'env:T'", "2:5", "has no `host`"},
		{"host: a.example, from: 'env:T'", "2:5", "has no form; write one of `header`"},
		{"host: a.example, header: X-Key, value: '${secret}'", "2:5", "has no source"},
		{"host: '*.a.example', query: k, from: 'env:T'", "2:12",
		 "`*.a.example`: a credential goes to exact names only: a wildcard would give"},
		{"host: 192.0.2.1, query: k, from: 'env:T'", "2:12", "a credential goes to a name"},
		{"host: 'https://a.example/', query: k, from: 'env:T'", "2:12", "it is a URL"},
		{"host: 'a.example:8443', query: k, from: 'env:T'", "2:12",
		 "a port goes in `port`"},
		{"host: 'a..example', query: k, from: 'env:T'", "2:12", "a label is empty"},
		{OK ", port: 80", "2:79", "port 80 is plain HTTP, and a secret goes over TLS only"},
		{OK ", port: 0", "2:79", "`0` is not a number from 1 to 65535"},
		{OK ", methods: [get]", "2:83", "methods are in capitals; write `GET`"},
		{OK ", methods: []", "2:82", "an empty list"},
		{OK ", paths: ['v1']", "2:81", "a path begins with `/`"},
		{OK ", paths: ['/a?b']", "2:81", "bound to paths, not to queries"},
		{OK ", path: /v1", "2:73", "did you mean `paths`?"},
		{OK ", basic: me", "2:73", "a second form; a credential has one of"},
		{OK ", pin: never", "2:78", "write one of `replace`, `strict`, `keep`"},
		{OK ", env: 1A", "2:78", "not the name of a variable"},
		{OK ", env: LD_PRELOAD", "2:78", "a meaning of its own"},
		{OK ", refresh: {}", "2:82", "`refresh` has no `url`"},
		{OK ", refresh: {url: 'http://a.example/t'}", "2:88", "https://HOST/PATH"},
		{OK ", refresh: {url: 'https://a.example'}", "2:88", "https://HOST/PATH"},
		{OK ", refresh: {url: 'https://u@a.example/t'}", "2:88", "https://HOST/PATH"},
		{OK ", refresh: {url: 'https://a.example:8/t'}", "2:88",
		 "the host of the token URL"},
		{OK ", refresh: {url: 'https://a.example/t', client_secret: 'env:C'}", "2:82",
		 "without `client_id`"},
		{"host: a.example, header: 'X Key', value: '${secret}', from: 'env:T'", "2:31",
		 "not the name of a header"},
		{"host: a.example, header: Host, value: '${secret}', from: 'env:T'", "2:31",
		 "part of how HTTP itself works"},
		{"host: a.example, header: Transfer-Encoding, value: '${secret}', from: 'env:T'",
		 "2:31", "part of how HTTP itself works"},
		{"host: a.example, header: X-Key, value: 'Bearer', from: 'env:T'", "2:45",
		 "the place of the secret is missing; write `${secret}`"},
		{"host: a.example, header: X-Key, value: 'Bearer ghp_0123456789', from: 'env:T'",
		 "2:45", "f:2:45: the place of the secret is missing"},
		{"host: a.example, basic: 'me:ghp_0123456789', from: 'env:T'", "2:30",
		 "f:2:30: a user has no colon"},
		{"host: a.example, header: X-Key, value: '${secrte}', from: 'env:T'", "2:45",
		 "`${secrte}` is not known; write `${secret}`"},
		{"host: a.example, header: X-Key, value: '${secret}${secret}', from: 'env:T'",
		 "2:45", "stands in it twice"},
		{"host: a.example, header: X-Key, value: ' ${secret}', from: 'env:T'", "2:45",
		 "a space stands at its end"},
		{"host: a.example, header: X-Key, value: \"${secret}\\r\\nX: y\", from: 'env:T'",
		 "2:45", "something else than visible ASCII"},
		{"host: a.example, basic: 'a:b', from: 'env:T'", "2:30", "a user has no colon"},
		{"host: a.example, basic: '${secret}', from: 'env:T'", "2:30",
		 "the colon between user and password is missing"},
		{"host: a.example, basic: me, value: x, from: 'env:T'", "2:41",
		 "goes with `header` only"},
		{"host: a.example, query: 'a&b', from: 'env:T'", "2:30", "a key of a query holds"},
		{"host: a.example, aws: {region: us-east-1}, from: 'env:T'", "2:28",
		 "`aws` has `region` and `service`"},
		{"host: a.example, aws: {region: 'us/east', service: s3}, from: 'env:T'", "2:37",
		 "a region or a service of AWS"},
		{"host: a.example, query: k, from: 'ghp_0123456789'", "2:39",
		 "it is no source of a secret; write `env:NAME`"},
		{"host: a.example, query: k, from: 'enf:T'", "2:39", "did you mean `env:`?"},
		{"host: a.example, query: k, from: 'env:'", "2:39",
		 "followed by the name of a variable"},
		{"host: a.example, query: k, from: 'env:A-B'", "2:39", "letters, digits and `_`"},
		{"host: a.example, query: k, from: 'file:secret'", "2:39",
		 "begins with `/` or `~/`"},
		{"host: a.example, query: k, from: 'command:'", "2:39", "followed by a program"},
		{"host: a.example, query: k, from: 'command:./x'", "2:39", "its whole path"},
		{"host: a.example, query: k, from: 'command:a | b'", "2:39", "without a shell"},
		{"host: a.example, query: k, from: 'keyring:'", "2:39",
		 "SERVICE or SERVICE/ACCOUNT"},
		{"host: a.example, query: k, from: 'github'", "2:39", "write `git` alone"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct policy p, empty;
		char begin[32];
		struct err e;

		policy_init(&empty);
		snprintf(begin, sizeof(begin), "f:%s: ", rows[i].place);
		if (read_entry(rows[i].entry, &p, &e) == 0)
			fail_msg("accepted: %s", rows[i].entry);
		if (strncmp(e.text, begin, strlen(begin)) != 0 || !strstr(e.text, rows[i].says))
			fail_msg("%s\n  want: %s%s\n  got: %s", rows[i].entry, begin, rows[i].says,
				 e.text);
		assert_null(strstr(e.text, "ghp_0123456789"));
		assert_memory_equal(&p, &empty, sizeof(p));
	}
}

static void entries_that_contradict_are_refused(void **state)
{
	static const struct {
		const char *more, *says;
	} rows[] = {
		{"header: x-key, value: '${secret}', from: 'env:U'",
		 "a second credential for x-key at"},
		{"query: k, pin: keep, from: 'env:U'", "a second `pin` for a.example"},
		{"query: k, env: TOKEN, from: 'env:U'",
		 "`env: TOKEN` is that of another credential"},
		{"query: k, from: 'env:U'", NULL},
		{"header: X-Key, value: '${secret}', paths: [/v1], from: 'env:U'", NULL},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		char text[1024];
		struct policy p;
		struct err e;
		int rc;

		snprintf(text, sizeof(text),
			 PREFIX "{" OK ", env: TOKEN}\n  - {host: A.Example., %s}\n", rows[i].more);
		rc = policy_parse(span_of_string(text), POLICY_YAML, "f", &p, &e);
		assert_int_equal(rc, rows[i].says ? -1 : 0);
		if (rc && (!strstr(e.text, rows[i].says) || strncmp(e.text, "f:3:5: ", 7) != 0))
			fail_msg("%s: %s", rows[i].more, e.text);
		policy_free(&p);
	}
}

/* What is printed reads back to the same, in both languages and on the wire. */
static void what_is_printed_reads_back(void **state)
{
	static const char *const entries[] = {
		OK,
		OK ", port: 8443, methods: [GET, POST], paths: ['/v1/*'], pin: strict, env: KEY",
		"host: a.example, basic: me, from: 'file:~/x', pin: keep",
		"host: a.example, basic: '${secret}:', from: 'command:pass show x'",
		"host: a.example, query: key, from: 'keyring:a/b', pin: replace",
		"host: a.example, aws: {region: eu-west-1, service: s3}, from: git",
		OK ", refresh: {url: 'https://a.example/t', client_id: c, client_secret: 'env:C', "
		   "scope: 'a b'}",
	};

	for (size_t i = 0; i < sg_array_len(entries); i++) {
		struct policy p, again;
		struct err e;
		char *json, *yaml, *second;

		if (read_entry(entries[i], &p, &e))
			fail_msg("%s", e.text);
		json = policy_print_json(&p);
		yaml = policy_print_yaml(&p);
		assert_int_equal(policy_parse(span_of_string(yaml), POLICY_YAML, "f", &again, &e),
				 0);
		second = policy_print_json(&again);
		assert_string_equal(json, second);
		free(second);
		policy_free(&again);
		assert_int_equal(policy_parse_wire(span_of_string(json), &again, &e), 0);
		second = policy_print_wire(&again);
		assert_string_equal(json, second);
		free(second);
		free(json);
		free(yaml);
		policy_free(&again);
		policy_free(&p);
	}
}

static const char *idle(const char *text, struct err *e)
{
	struct policy p;
	struct ruleset *rs;
	bool idle;

	if (policy_parse(span_of_string(text), POLICY_YAML, "f", &p, e))
		fail_msg("%s", e->text);
	rs = ruleset_compile(&p, 1, e);
	assert_non_null(rs);
	idle = credentials_note_idle(rs, e);
	ruleset_free(rs);
	policy_free(&p);
	return idle ? e->text : NULL;
}

static void one_that_no_request_can_reach_is_said(void **state)
{
	struct err e;

	assert_null(idle("network: deny\nallow: [a.example]\n", &e));
	assert_null(idle("network: deny\nallow: [a.example]\n" PREFIX "{" OK "}\n", &e));
	assert_string_equal(
		idle("network: deny\nallow: [b.example]\n" PREFIX "{" OK "}\n", &e),
		"the credential X-Key at a.example is never used: no rule admits a.example; "
		"add it under `allow`");
	assert_non_null(strstr(
		idle("network: deny\nallow: [a.example]\n" PREFIX "{" OK ", port: 8443}\n", &e),
		"no rule admits a.example"));
}

/* catalogue.md: "signed in as you" is the person's credential, in the form that each service takes.
 */
static void permissions_have_their_credentials(void **state)
{
	static const char *const forms[] = {"Authorization at github.com",
					    "Authorization at api.github.com",
					    "Authorization at uploads.github.com"};
	char *on[] = {(char *)"github", (char *)"github:as-you", (char *)"github:push", NULL};
	struct credential_list list = {0};
	char shown[CREDENTIAL_TEXT_MAX];

	assert_int_equal(credentials_add_personal(NULL, &list), 0);
	assert_int_equal(credentials_add_personal(on, &list), 0);
	assert_int_equal(list.n, sg_array_len(forms));
	for (size_t i = 0; i < list.n; i++) {
		assert_string_equal(credential_describe(&list.v[i], shown), forms[i]);
		assert_string_equal(list.v[i].from, "git");
		assert_int_equal(list.v[i].slot, i == 0 ? SLOT_BASIC : SLOT_HEADER);
	}
	/* gh does not start without a token. */
	assert_string_equal(list.v[1].env, "GH_TOKEN");
	credential_list_free(&list);
}

static struct policy resolved(const char *yaml)
{
	const struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "f", &p, &e) ||
	    policy_resolve(&p, &sources, &e))
		fail_msg("%s", e.text);
	return p;
}

static void assert_same_list(const struct credential_list *a, const struct credential_list *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		assert_true(credential_is_same(&a->v[i], &b->v[i]));
}

/* What is in force is the same in every process, and no part of the person's own words. */
static void what_is_in_force_goes_wherever_the_policy_goes(void **state)
{
	struct policy p =
		resolved("network: deny\npermissions: [github:as-you]\nallow: [a.example]\n" PREFIX
			 "{" OK "}\n");
	struct policy copy, far;
	char *wire = policy_print_wire(&p), *words = policy_print_yaml(&p);
	struct err e;

	assert_int_equal(p.credentials.n, 1);
	assert_int_equal(policy_credentials(&p)->n, 3);
	assert_string_equal(policy_credentials(&p)->v[0].host, "a.example");
	assert_int_equal(policy_copy(&p, &copy, &e), 0);
	assert_same_list(policy_credentials(&p), policy_credentials(&copy));
	if (policy_parse_wire(span_of_string(wire), &far, &e))
		fail_msg("%s", e.text);
	assert_same_list(policy_credentials(&p), policy_credentials(&far));
	assert_null(strstr(words, "api.github.com"));
	free(wire);
	free(words);
	policy_free(&far);
	policy_free(&copy);
	policy_free(&p);
}

/* A number is one credential's for good. */
static void numbers_grow_and_are_never_given_again(void **state)
{
	struct policy with =
		resolved("network: deny\npermissions: [github:as-you]\n" PREFIX "{" OK "}\n");
	struct policy without = resolved("network: deny\n" PREFIX "{" OK "}\n");
	struct policy other = resolved("network: deny\npermissions: [github:push]\n" PREFIX "{" OK
				       ", pin: keep}\n");
	struct credential_list numbers = {0};

	assert_int_equal(credential_list_grow(&numbers, policy_credentials(&without)), 0);
	assert_int_equal(numbers.n, 1);
	assert_int_equal(credential_list_grow(&numbers, policy_credentials(&with)), 0);
	assert_int_equal(numbers.n, 3);
	assert_int_equal(credential_list_grow(&numbers, policy_credentials(&without)), 0);
	assert_int_equal(numbers.n, 3);
	/* Another pin is another credential; push signs in as well, and uploads beside it. */
	assert_int_equal(credential_list_grow(&numbers, policy_credentials(&other)), 0);
	assert_int_equal(numbers.n, 5);
	for (size_t i = 0; i < 3; i++)
		assert_true(credential_is_same(&numbers.v[i], &policy_credentials(&with)->v[i]));
	assert_int_equal(numbers.v[3].pin, PIN_KEEP);
	assert_string_equal(numbers.v[4].host, "uploads.github.com");
	credential_list_free(&numbers);
	policy_free(&other);
	policy_free(&without);
	policy_free(&with);
}

static void what_the_person_wrote_for_a_host_stays(void **state)
{
	char *on[] = {(char *)"github:as-you", NULL};
	struct policy p;
	struct err e;

	assert_int_equal(read_entry("host: api.github.com, query: k, from: 'env:T'", &p, &e), 0);
	assert_int_equal(credentials_add_personal(on, &p.credentials), 0);
	assert_int_equal(p.credentials.n, 2);
	assert_string_equal(p.credentials.v[0].from, "env:T");
	assert_string_equal(p.credentials.v[1].host, "github.com");
	policy_free(&p);
}

static void every_permission_that_signs_in_has_some(void **state)
{
	const struct catalogue *c = catalogue_builtin();
	size_t seen = 0;

	for (size_t i = 0; i < c->n_permissions; i++) {
		char *on[] = {(char *)c->permissions[i].id, NULL};
		struct credential_list list = {0};

		if (!strstr(on[0], ":as-you"))
			continue;
		seen++;
		assert_int_equal(credentials_add_personal(on, &list), 0);
		if (list.n == 0)
			fail_msg("%s adds nothing", on[0]);
		credential_list_free(&list);
	}
	assert_true(seen >= 4);
}

static void times_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2026-01-31T12:00:00Z", 1769860800},
		{"2026-01-31t12:00:00z", 1769860800},
		{"2026-01-31T12:00:00.123456Z", 1769860800},
		{"2026-01-31T13:00:00+01:00", 1769860800},
		{"2026-01-31T09:30:00-02:30", 1769860800},
	};
	static const char *const wrong[] = {
		"",
		"2026",
		"2026-01-31",
		"2026-13-31T12:00:00Z",
		"2026-01-31T25:00:00Z",
		"2026-01-31T12:00:00",
		"2026-01-31T12:00:00+1",
		"2026-01-31T12:00:00Zz",
		"tomorrow at noon today",
	};
	int64_t t;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		assert_true(secret_time_parse(rows[i].text, &t));
		assert_int_equal(t, rows[i].seconds);
	}
	for (size_t i = 0; i < sg_array_len(wrong); i++)
		if (secret_time_parse(wrong[i], &t))
			fail_msg("accepted: %s", wrong[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(entries_that_contradict_are_refused),
		cmocka_unit_test(what_is_printed_reads_back),
		cmocka_unit_test(one_that_no_request_can_reach_is_said),
		cmocka_unit_test(permissions_have_their_credentials),
		cmocka_unit_test(what_the_person_wrote_for_a_host_stays),
		cmocka_unit_test(what_is_in_force_goes_wherever_the_policy_goes),
		cmocka_unit_test(numbers_grow_and_are_never_given_again),
		cmocka_unit_test(every_permission_that_signs_in_has_some),
		cmocka_unit_test(times_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
