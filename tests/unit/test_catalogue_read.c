/* SPDX-License-Identifier: Apache-2.0 */
/* An administrator's catalogue: what replaces and adds, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/decide.h"
#include "policy/permission.h"
#include "policy/rule_entry.h"

static struct catalogue *read_on(const struct catalogue *base, const char *yaml)
{
	struct err e;
	struct catalogue *c = catalogue_read(base, span_of_string(yaml), "corp.yaml", &e);

	if (!c)
		fail_msg("%s", e.text);
	return c;
}

static const char corp[] =
	"operations:\n"
	"  look: [{says: look, methods: [GET, HEAD], paths: ['/v1/*']}]\n"
	"permissions:\n"
	"  corp:wiki:\n"
	"    says: read the wiki\n"
	"    attempt: read the wiki\n"
	"    hosts: {corp.example: [wiki, '@', '*:8443'], Example.ORG: ['db:5432/tcp']}\n"
	"    rules: [10.20.0.0/16]\n"
	"    operations: [{use: look, host: wiki.corp.example}, {says: all, write: false}]\n"
	"  corp:\n"
	"    says: all of ours\n"
	"    attempt: use ours\n"
	"    includes: [corp:wiki, 'install:python']\n"
	"  model:azure:\n"
	"    says: our models\n"
	"    attempt: talk to our models\n"
	"    hosts: {openai.azure.com: [corp]}\n"
	"  install:python:\n"
	"    says: install Python packages from our mirror\n"
	"    attempt: install Python packages\n"
	"    hosts: {corp.example: [pypi]}\n"
	"    files: [pyproject.toml, '*.py']\n"
	"presets:\n"
	"  standard: {says: ours, permissions: [model, corp, languages]}\n"
	"agents:\n"
	"  helper:\n"
	"    commands: [helper, helper-cli]\n"
	"    model: ['model:azure']\n"
	"    update: {corp.example: [downloads]}\n";

static void test_replaces_and_adds(void **state)
{
	struct catalogue *c = read_on(catalogue_builtin(), corp);
	const struct permission *p = catalogue_permission(c, "corp:wiki");

	assert_non_null(p);
	assert_string_equal(p->rules[0], "wiki.corp.example");
	assert_string_equal(p->rules[1], "corp.example");
	assert_string_equal(p->rules[2], "*.corp.example:8443");
	assert_string_equal(p->rules[3], "db.example.org:5432/tcp");
	assert_string_equal(p->rules[4], "10.20.0.0/16");
	assert_null(p->rules[5]);
	assert_int_equal(p->n_operations, 2);
	assert_string_equal(p->operations[0].host, "wiki.corp.example");
	assert_string_equal(p->operations[0].paths[0], "/v1/*");
	assert_null(p->operations[1].methods);
	assert_string_equal(catalogue_permission(c, "install:python")->rules[0],
			    "pypi.corp.example");
	assert_string_equal(catalogue_permission(c, "install:python")->says,
			    "install Python packages from our mirror");
	assert_null(catalogue_permission(c, "model:azure")->instead);
	/* what it does not name is as it was */
	assert_ptr_equal(catalogue_permission(c, "github")->rules,
			 catalogue_permission(catalogue_builtin(), "github")->rules);
	assert_string_equal(catalogue_permission(catalogue_builtin(), "install:python")->rules[0],
			    "pypi.org");
	catalogue_free(c);
}

static void test_presets_agents_languages(void **state)
{
	struct catalogue *c = read_on(catalogue_builtin(), corp);
	const struct preset *standard = catalogue_preset(c, "standard");

	assert_true(catalogue_preset_has(c, standard, "corp:wiki"));
	assert_false(catalogue_preset_has(c, standard, "github"));
	assert_string_equal(catalogue_agent_of_command(c, "helper-cli")->name, "helper");
	assert_string_equal(catalogue_agent(c, "helper")->update[0], "downloads.corp.example");
	assert_non_null(catalogue_agent(c, "claude"));
	assert_string_equal(catalogue_language_of_file(c, "x.py")->permission, "install:python");
	assert_null(catalogue_language_of_file(c, "requirements.txt"));
	assert_string_equal(catalogue_language_of_file(c, "go.mod")->permission, "install:go");
	catalogue_free(c);
}

/* The table stays in order, or a look-up would miss. */
static void test_stays_sorted(void **state)
{
	struct catalogue *c = read_on(catalogue_builtin(), corp);

	for (size_t i = 1; i < c->n_permissions; i++)
		assert_true(strcmp(c->permissions[i - 1].id, c->permissions[i].id) < 0);
	assert_int_equal(c->n_permissions, catalogue_builtin()->n_permissions + 2);
	catalogue_free(c);
}

/* Several files, the later one over the earlier, which it borrows from. */
static void test_one_on_another(void **state)
{
	struct catalogue *first = read_on(catalogue_builtin(), corp);
	struct catalogue *second = read_on(first, "permissions:\n"
						  "  corp:wiki:\n"
						  "    says: a\n"
						  "    attempt: a\n"
						  "    hosts: {corp.example: [new]}\n");
	char version[64];

	assert_string_equal(catalogue_permission(second, "corp:wiki")->rules[0],
			    "new.corp.example");
	assert_string_equal(catalogue_permission(second, "corp")->includes[0], "corp:wiki");
	snprintf(version, sizeof(version), "%s+local", catalogue_builtin()->version);
	assert_string_equal(second->version, version);
	catalogue_free(second);
	assert_string_equal(catalogue_permission(first, "corp:wiki")->rules[0],
			    "wiki.corp.example");
	catalogue_free(first);
}

/* A file that is refused leaves the catalogue below to its owner. */
static void test_a_refused_file_leaves_the_one_below(void **state)
{
	struct catalogue *first = read_on(catalogue_builtin(), corp);
	struct err e;

	assert_null(catalogue_read(first, span_of_string("permissions: 1\n"), "f", &e));
	assert_non_null(catalogue_permission(first, "corp"));
	catalogue_free(first);
	catalogue_free(NULL);
	catalogue_free((struct catalogue *)catalogue_builtin());
}

static void test_covering_sees_what_was_added(void **state)
{
	struct catalogue *c = read_on(catalogue_builtin(), corp);
	struct destination d = {.kind = DEST_CONNECT, .port = 5432, .proto = PROTO_TCP};
	struct name name;
	struct addr addr;

	assert_int_equal(name_parse("db.example.org", 14, &name, NULL), NAME_OK);
	d.name = &name;
	assert_string_equal(catalogue_covering(c, &d, NULL)->id, "corp:wiki");
	d.name = NULL;
	d.addr = &addr;
	assert_true(addr_parse("10.20.3.4", 9, &addr));
	assert_string_equal(catalogue_covering(c, &d, NULL)->id, "corp:wiki");
	assert_true(addr_parse("10.21.3.4", 9, &addr));
	assert_null(catalogue_covering(c, &d, NULL));
	catalogue_free(c);
}

#define ENTRY(keys) "permissions:\n  corp:\n    says: a\n    attempt: a\n" keys

static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{"", "the file is empty"},
		{"permission:\n  a: {}\n",
		 "corp.yaml:1:1: unknown key `permission`; did you mean `permissions`?"},
		{"version: 2026-01-01\n",
		 "corp.yaml:1:1: the version is that of the catalogue below"},
		{"permissions: [a]\n", "corp.yaml:1:14: a map of entries belongs here"},
		{"permissions:\n  Corp: {says: a, attempt: a, rules: [a.example]}\n",
		 "corp.yaml:2:3: `Corp` is not an id"},
		{"permissions:\n  languages: {says: a, attempt: a, rules: [a.example]}\n",
		 "stands for those of the project"},
		{"permissions:\n  a: {says: a, attempt: a, rules: [a.example]}\n  a: {says: b}\n",
		 "corp.yaml:3:3: a second `a`; the first is on line 2"},
		{"permissions:\n  corp: {says: a, rules: [a.example]}\n",
		 "needs `says` and `attempt`"},
		{ENTRY("    host: {a.example: [b]}\n"),
		 "corp.yaml:5:5: unknown key `host`; did you mean `hosts`?"},
		{ENTRY(""), "corp.yaml:2:3: it lets nothing through"},
		{ENTRY("    hosts: {a.example: []}\n"), "an empty list matches nothing"},
		{ENTRY("    hosts: [a.example]\n"),
		 "corp.yaml:5:12: a map of entries belongs here"},
		{ENTRY("    hosts: {com: ['*']}\n"), "strangers can register names under it"},
		{ENTRY("    hosts: {a.example: ['b.*']}\n"), "a wildcard is the whole first label"},
		{ENTRY("    hosts: {a.example: ['b:0']}\n"), "corp.yaml:5:25: "},
		{ENTRY("    hosts: {a.example: [b, b]}\n"), "`b.a.example` stands twice"},
		{ENTRY("    rules: [10.0.0.5/8]\n"), "host bits are set"},
		{ENTRY("    rules: ['https://a.example/']\n"), "it is a URL"},
		{ENTRY("    includes: [install:pyton]\n"),
		 "corp.yaml:2:3: `corp`: permission `install:pyton` is not known; did you mean "
		 "`install:python`?"},
		{ENTRY("    includes: [corp]\n"), "`corp` includes itself"},
		{ENTRY("    includes: ['github:push']\n"),
		 "includes a permission that is personal"},
		{ENTRY("    rules: [a.example, a.example:443/raw]\n"
		       "    operations: [{says: a, methods: [GET]}]\n"),
		 "its operations cannot be held for `a.example:443/raw`: requests are seen on TCP "
		 "ports 80 and 443 of a name"},
		{ENTRY("    rules: [10.0.0.0/8]\n    operations: [{says: a, methods: [GET]}]\n"),
		 "its operations cannot be held for `10.0.0.0/8`"},
		{ENTRY("    rules: [b.example, a.example:8443]\n"
		       "    operations: [{says: a, host: a.example, paths: [/v1]}]\n"),
		 "its operations cannot be held for `a.example:8443`"},
		{ENTRY("    web: true\n"), "what opens the web asks first"},
		{ENTRY("    host_port: 0\n"), "`0` is not a number from 1 to 65535"},
		{ENTRY("    rules: [a.example]\n    instead: no\n"), "leave `instead` out"},
		{ENTRY("    rules: [a.example]\n    files: [a/b]\n"), "is not the name of a file"},
		{ENTRY("    rules: [a.example]\n    operations: [{use: git-reed}]\n"),
		 "`git-reed` is no list of operations; did you mean `git-read`?"},
		{ENTRY("    rules: [a.example]\n    operations: [{use: git-read, says: a}]\n"),
		 "`use` stands alone or with `host`"},
		{ENTRY("    rules: [a.example]\n    operations: [{methods: [GET]}]\n"),
		 "an operation needs `says`, or `use`"},
		{ENTRY("    rules: [a.example]\n    operations: [{says: a, methods: [get]}]\n"),
		 "methods are in capitals; write `GET`"},
		{ENTRY("    rules: [a.example]\n    operations: [{says: a, paths: [v1]}]\n"),
		 "a path begins with `/` or `*`"},
		{ENTRY("    rules: [a.example]\n    operations: [{says: a, check: graphql}]\n"),
		 "is not known here"},
		{ENTRY("    rules: [a.example]\n    operations: [{says: a, host: b.example}]\n"),
		 "an operation is for `b.example`, which is no host of it"},
		{"permissions:\n  corp: {says: \"a\\e[31m\", attempt: a, rules: [a.example]}\n",
		 "a text is one line of visible ASCII"},
		{"presets:\n  corp: {says: a, permissions: [model]}\n",
		 "`corp` is none of the presets `locked`, `standard`, `open`, `bake`; a set of your own "
		 "is a permission"},
		{"presets:\n  standard: {says: a, permissions: [modle]}\n",
		 "permission `modle` is not known; did you mean `model`?"},
		{"presets:\n  standard: {says: a, permissions: ['github:as-you']}\n",
		 "the preset `standard` would hold `github:as-you`"},
		{"presets:\n  bake: {says: a, permissions: ['publish:node']}\n",
		 "the preset `bake` would hold `publish:node`"},
		{"presets:\n  standard: {says: a, permissions: [web]}\n",
		 "the preset `standard` would hold `web`"},
		{"presets:\n  standard: {says: a, open: true, warning: a}\n",
		 "only the preset `open` may be open"},
		{"presets:\n  open: {says: a}\n", "the preset `open` is open; write `open: true`"},
		{"presets:\n  open: {says: a, open: true}\n", "what opens the network asks first"},
		{"agents:\n  x: {commands: [claude], model: [model:openai]}\n",
		 "the command `claude` is of "},
		{"agents:\n  x: {commands: [/bin/x], model: [model:openai]}\n",
		 "is not the base name of a command"},
		{"agents:\n  x: {commands: [x]}\n", "an agent needs `commands` and `model`"},
		{"agents:\n  x: {commands: [x], model: [model:x]}\n",
		 "permission `model:x` is not known"},
		/* what is replaced may be held by a preset that is not */
		{"permissions:\n  github: {says: a, attempt: a, rules: [a.example], personal: true}\n",
		 "the preset `standard` would hold `github`"},
		{"permissions:\n  update: {says: a, attempt: a, rules: [a.example], warning: sure}\n",
		 "the preset `standard` would hold `update`"},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		struct err e;
		struct catalogue *c = catalogue_read(catalogue_builtin(),
						     span_of_string(cases[i][0]), "corp.yaml", &e);

		if (c)
			fail_msg("accepted:\n%s", cases[i][0]);
		if (!strstr(e.text, cases[i][1]))
			fail_msg("%s\n  want: %s\n  got:  %s", cases[i][0], cases[i][1], e.text);
	}
}

/* The operations that are compiled in are written as an administrator's must be. */
static void test_operations_that_are_compiled_in(void **state)
{
	const struct catalogue *c = catalogue_builtin();
	struct err e;

	for (size_t i = 0; i < c->n_permissions; i++)
		for (size_t k = 0; k < c->permissions[i].n_operations; k++) {
			const struct operation *o = &c->permissions[i].operations[k];

			assert_non_null(o->says);
			for (const char *const *m = o->methods; m && *m; m++)
				if (rule_check_method(*m, &e))
					fail_msg("%s: %s", c->permissions[i].id, e.text);
			for (const char *const *path = o->paths; path && *path; path++)
				if (rule_check_path(*path, &e))
					fail_msg("%s: %s: %s", c->permissions[i].id, *path, e.text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaces_and_adds),
		cmocka_unit_test(test_presets_agents_languages),
		cmocka_unit_test(test_stays_sorted),
		cmocka_unit_test(test_one_on_another),
		cmocka_unit_test(test_a_refused_file_leaves_the_one_below),
		cmocka_unit_test(test_covering_sees_what_was_added),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_operations_that_are_compiled_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
