/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue that is compiled in: its facts, and finding things in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/decide.h"
#include "policy/permission.h"

/* The ids that are promised; more may be there. */
static const char *const promised[] = {
	"model",
	"model:anthropic",
	"model:openai",
	"model:gemini",
	"model:copilot",
	"model:openrouter",
	"model:mistral",
	"model:groq",
	"model:bedrock",
	"model:vertex",
	"model:azure",
	"model:ollama",
	"sign-in",
	"update",
	"install",
	"install:system",
	"install:node",
	"install:python",
	"install:go",
	"install:rust",
	"install:java",
	"install:ruby",
	"install:dotnet",
	"install:php",
	"install:container",
	"publish:node",
	"publish:python",
	"publish:rust",
	"publish:ruby",
	"publish:dotnet",
	"publish:container",
	"github",
	"github:as-you",
	"github:push",
	"gitlab",
	"bitbucket",
	"huggingface",
	"error-reports",
	"time",
	"web",
};

static bool has(const char *const *list, const char *word)
{
	for (; list && *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

static void test_every_promised_id_is_there(void **state)
{
	const struct catalogue *c = catalogue_builtin();

	for (size_t i = 0; i < sg_array_len(promised); i++) {
		const struct permission *p = catalogue_permission(c, promised[i]);

		if (!p)
			fail_msg("%s is not there", promised[i]);
		assert_string_equal(p->id, promised[i]);
		assert_true(strlen(p->says) > 8 && strlen(p->attempt) > 8);
	}
	assert_null(catalogue_permission(c, "install:"));
	assert_null(catalogue_permission(c, ""));
	assert_int_equal(strlen(c->version), strlen("2026-11-29"));
}

/* As it stands, and as a person's own rule would be read: nothing shared, nothing converted. */
static void assert_canonical(const char *where, const char *rule)
{
	char text[RULE_TEXT_MAX];
	struct policy p;
	struct err e;

	policy_init(&p);
	if (policy_add_rule(&p, EFFECT_ALLOW, rule, &e))
		fail_msg("%s: %s", where, e.text);
	assert_string_equal(rule_format(&p.rules[0], text), rule);
	policy_free(&p);
}

static void test_every_rule_parses(void **state)
{
	const struct catalogue *c = catalogue_builtin();

	for (size_t i = 0; i < c->n_permissions; i++) {
		const struct permission *p = &c->permissions[i];

		for (const char *const *rule = p->rules; *rule; rule++)
			assert_canonical(p->id, *rule);
		if (i)
			assert_true(strcmp(c->permissions[i - 1].id, p->id) < 0);
	}
	for (size_t i = 0; i < c->n_agents; i++) {
		for (const char *const *rule = c->agents[i].update; *rule; rule++)
			assert_canonical(c->agents[i].name, *rule);
		for (const char *const *rule = c->agents[i].sign_in; *rule; rule++)
			assert_canonical(c->agents[i].name, *rule);
	}
}

/* A permission lets something through, or says what to write. */
static void test_no_permission_is_empty(void **state)
{
	const struct catalogue *c = catalogue_builtin();

	for (size_t i = 0; i < c->n_permissions; i++) {
		const struct permission *p = &c->permissions[i];
		bool by_agent = strcmp(p->id, "model") == 0;
		bool something = p->rules[0] || p->includes || p->host_port || p->web ||
				 p->instead || by_agent;

		if (!something)
			fail_msg("%s lets nothing through", p->id);
		assert_true(p->asks == (p->warning != NULL));
	}
	assert_true(catalogue_permission(c, "web")->asks);
	assert_int_equal(catalogue_permission(c, "model:ollama")->host_port, 11434);
	assert_non_null(strstr(catalogue_permission(c, "model:azure")->instead, "site:"));
}

static void assert_preset(const char *name, const char *const *ids)
{
	const struct preset *p = catalogue_preset(catalogue_builtin(), name);
	size_t n = 0;

	assert_non_null(p);
	for (; ids[n]; n++)
		if (!has(p->permissions, ids[n]))
			fail_msg("%s lacks %s", name, ids[n]);
	for (size_t i = 0; p->permissions[i]; i++)
		n--;
	assert_int_equal(n, 0);
}

static void test_presets(void **state)
{
	const struct catalogue *c = catalogue_builtin();

	assert_preset("locked", (const char *[]){"model", NULL});
	assert_preset("standard", (const char *[]){"model", "update", "install:system", "languages",
						   "github", "error-reports", NULL});
	assert_preset("open", (const char *[]){"model", NULL});
	assert_preset("bake", (const char *[]){"install:system", "install", NULL});
	assert_int_equal(c->n_presets, 4);
	for (size_t i = 0; i < c->n_presets; i++) {
		assert_true(c->presets[i].open == (strcmp(c->presets[i].name, "open") == 0));
		assert_true(c->presets[i].asks == c->presets[i].open);
	}
	assert_null(catalogue_preset(c, "any"));
}

/* What uses a person's credential, asks first, or writes is in no preset. */
static void test_presets_hold_nothing_of_a_persons(void **state)
{
	const struct catalogue *c = catalogue_builtin();

	for (size_t i = 0; i < c->n_permissions; i++) {
		const struct permission *p = &c->permissions[i];
		bool own = p->personal || p->asks || permission_writes(p);

		for (size_t k = 0; k < c->n_presets; k++)
			if (own && catalogue_preset_has(c, &c->presets[k], p->id))
				fail_msg("%s is in %s", p->id, c->presets[k].name);
		if (strncmp(p->id, "publish:", 8) == 0)
			assert_true(permission_writes(p));
		if (strncmp(p->id, "install", 7) == 0)
			assert_false(permission_writes(p));
	}
	assert_true(catalogue_permission(c, "github:as-you")->personal);
	assert_true(catalogue_permission(c, "github:push")->personal);
	assert_true(permission_writes(catalogue_permission(c, "github:push")));
	assert_false(permission_writes(catalogue_permission(c, "github")));
}

static void test_what_a_preset_includes(void **state)
{
	const struct catalogue *c = catalogue_builtin();
	const struct preset *standard = catalogue_preset(c, "standard");
	const struct preset *bake = catalogue_preset(c, "bake");

	assert_true(catalogue_preset_has(c, standard, "github"));
	assert_true(catalogue_preset_has(c, standard, "install:rust"));
	assert_false(catalogue_preset_has(c, standard, "install"));
	assert_false(catalogue_preset_has(c, standard, "install:container"));
	assert_false(catalogue_preset_has(c, standard, "sign-in"));
	assert_true(catalogue_preset_has(c, bake, "install:ruby"));
	assert_false(catalogue_preset_has(c, bake, "github"));
}

static void test_agents(void **state)
{
	static const char *const known[][3] = {
		{"claude", "/usr/local/bin/claude", "model:anthropic"},
		{"codex", "codex", "model:openai"},
		{"gemini", "./gemini", "model:gemini"},
		{"opencode", "opencode", "model:opencode"},
		{"pi", "pi", "model:anthropic"},
		{"copilot", "copilot", "model:copilot"},
		{"aider", "aider", "model:openai"},
		{"goose", "goose", "model:openai"},
		{"amp", "amp", "model:amp"},
		{"cursor-agent", "cursor-agent", "model:cursor"},
	};
	const struct catalogue *c = catalogue_builtin();

	for (size_t i = 0; i < sg_array_len(known); i++) {
		const struct agent *a = catalogue_agent(c, known[i][0]);

		assert_non_null(a);
		assert_ptr_equal(catalogue_agent_of_command(c, known[i][1]), a);
		assert_true(has(a->model, known[i][2]));
		for (const char *const *id = a->model; *id; id++)
			assert_non_null(catalogue_permission(c, *id));
	}
	assert_null(catalogue_agent_of_command(c, "/usr/bin/claude/"));
	assert_null(catalogue_agent_of_command(c, "bash"));
	assert_null(catalogue_agent(c, "Claude"));
}

static void test_languages(void **state)
{
	static const char *const files[][2] = {
		{"Cargo.toml", "install:rust"},
		{"package.json", "install:node"},
		{"go.mod", "install:go"},
		{"pyproject.toml", "install:python"},
		{"pom.xml", "install:java"},
		{"build.gradle.kts", "install:java"},
		{"Gemfile", "install:ruby"},
		{"Shop.csproj", "install:dotnet"},
		{"composer.json", "install:php"},
		{"shop.gemspec", "install:ruby"},
		{"requirements.txt", "install:python"},
	};
	const struct catalogue *c = catalogue_builtin();

	for (size_t i = 0; i < sg_array_len(files); i++) {
		const struct language *l = catalogue_language_of_file(c, files[i][0]);

		if (!l)
			fail_msg("%s shows no language", files[i][0]);
		assert_string_equal(l->permission, files[i][1]);
	}
	assert_null(catalogue_language_of_file(c, ".csproj"));
	assert_null(catalogue_language_of_file(c, "cargo.toml"));
	assert_null(catalogue_language_of_file(c, "README.md"));
}

static void test_nearest(void **state)
{
	const struct catalogue *c = catalogue_builtin();

	assert_string_equal(catalogue_nearest(c, "githb"), "github");
	assert_string_equal(catalogue_nearest(c, "install:pyton"), "install:python");
	assert_string_equal(catalogue_nearest(c, "standart"), "standard");
	assert_string_equal(catalogue_nearest(c, "model:antropic"), "model:anthropic");
	assert_null(catalogue_nearest(c, "zzzzzzzzzz"));
}

/* ---- Which permission covers a destination ---- */

static const char *covering(const char *name, uint16_t port, enum proto proto, char *const *on)
{
	struct name n;
	struct destination d = {.kind = DEST_CONNECT, .name = &n, .port = port, .proto = proto};
	const struct permission *p;

	assert_int_equal(name_parse(name, strlen(name), &n, NULL), NAME_OK);
	if (port == 0)
		d.kind = DEST_LOOKUP;
	p = catalogue_covering(catalogue_builtin(), &d, on);
	return p ? p->id : "none";
}

static void test_covering(void **state)
{
	assert_string_equal(covering("pypi.org", 443, PROTO_TCP, NULL), "install:python");
	assert_string_equal(covering("files.pythonhosted.org", 0, PROTO_TCP, NULL),
			    "install:python");
	assert_string_equal(covering("api.anthropic.com", 443, PROTO_TCP, NULL), "model:anthropic");
	assert_string_equal(covering("crates.io", 443, PROTO_TCP, NULL), "none");
	/* of two that hold a host, the one of the everyday set */
	assert_string_equal(covering("github.com", 443, PROTO_TCP, NULL), "github");
	assert_string_equal(covering("api.github.com", 443, PROTO_TCP, NULL), "github");
	/* a wildcard is every name below, and not the domain */
	assert_string_equal(covering("de.archive.ubuntu.com", 80, PROTO_TCP, NULL),
			    "install:system");
	assert_string_equal(covering("agent.api5.cursor.sh", 443, PROTO_TCP, NULL), "model:cursor");
	assert_string_equal(covering("cursor.sh", 443, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("evilcursor.sh", 443, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("pypi.org.example.com", 443, PROTO_TCP, NULL), "none");
	/* ports and protocol as decide() matches them */
	assert_string_equal(covering("pypi.org", 22, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("pypi.org", 443, PROTO_UDP, NULL), "none");
	assert_string_equal(covering("pool.ntp.org", 123, PROTO_UDP, NULL), "time");
	assert_string_equal(covering("2.debian.pool.ntp.org", 123, PROTO_UDP, NULL), "time");
	assert_string_equal(covering("pool.ntp.org", 123, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("pool.ntp.org", 443, PROTO_TCP, NULL), "none");
}

/* Never what writes, asks or uses a credential: publishing, pushing, the web. */
static void test_covering_proposes_nothing_that_writes(void **state)
{
	assert_string_equal(covering("upload.pypi.org", 443, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("uploads.github.com", 443, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("central.sonatype.com", 443, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("www.nuget.org", 443, PROTO_TCP, NULL), "none");
	assert_string_equal(covering("www.example.com", 443, PROTO_TCP, NULL), "none");
}

static void test_covering_leaves_out_what_is_on(void **state)
{
	char *const on[] = {"github", "install:python", NULL};

	/* what includes it is the next, and more than was asked for */
	assert_string_equal(covering("pypi.org", 443, PROTO_TCP, on), "install");
	assert_string_equal(covering("github.com", 443, PROTO_TCP, on), "sign-in");
	assert_string_equal(covering("codeload.github.com", 443, PROTO_TCP, on), "none");
}

static void test_covering_by_address(void **state)
{
	struct addr a;
	struct destination d = {.kind = DEST_CONNECT, .addr = &a, .port = 443, .proto = PROTO_TCP};

	assert_true(addr_parse("93.184.216.34", strlen("93.184.216.34"), &a));
	assert_null(catalogue_covering(catalogue_builtin(), &d, NULL));
	d.addr = NULL;
	assert_null(catalogue_covering(catalogue_builtin(), &d, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_promised_id_is_there),
		cmocka_unit_test(test_every_rule_parses),
		cmocka_unit_test(test_no_permission_is_empty),
		cmocka_unit_test(test_presets),
		cmocka_unit_test(test_presets_hold_nothing_of_a_persons),
		cmocka_unit_test(test_what_a_preset_includes),
		cmocka_unit_test(test_agents),
		cmocka_unit_test(test_languages),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_covering),
		cmocka_unit_test(test_covering_proposes_nothing_that_writes),
		cmocka_unit_test(test_covering_leaves_out_what_is_on),
		cmocka_unit_test(test_covering_by_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
