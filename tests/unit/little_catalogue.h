/* SPDX-License-Identifier: Apache-2.0 */
/* A catalogue of one permission of each kind, and two agents. */
#ifndef SG_TESTS_LITTLE_CATALOGUE_H
#define SG_TESTS_LITTLE_CATALOGUE_H

#include "policy/permission.h"

#define LIST(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static const char *const no_rules[] = {NULL};
static const struct operation little_fetch[] = {{.says = "clone and fetch"}};

static const struct permission little_permissions[] = {
	{.id = "error-reports", .says = "report crashes", .rules = LIST("crash.example")},
	{.id = "github",
	 .says = "clone and fetch code",
	 .rules = LIST("github.example", "api.github.example"),
	 .operations = little_fetch,
	 .n_operations = 1},
	{.id = "github:as-you",
	 .says = "git signed in as you",
	 .rules = no_rules,
	 .includes = LIST("github"),
	 .personal = true},
	{.id = "install",
	 .says = "every language",
	 .rules = no_rules,
	 .includes = LIST("install:python", "install:rust")},
	{.id = "install:python",
	 .says = "PyPI",
	 .rules = LIST("pypi.example", "files.pypi.example")},
	{.id = "install:rust", .says = "crates", .rules = LIST("crates.example")},
	{.id = "install:system", .says = "apt", .rules = LIST("deb.example")},
	{.id = "model", .says = "the model of the agent that runs", .rules = no_rules},
	{.id = "model:anthropic", .says = "Anthropic", .rules = LIST("api.anthropic.example")},
	{.id = "model:azure", .says = "Azure", .rules = no_rules, .instead = "name the resource"},
	{.id = "model:ollama", .says = "Ollama", .rules = no_rules, .host_port = 11434},
	{.id = "model:openai", .says = "OpenAI", .rules = LIST("api.openai.example")},
	{.id = "sign-in", .says = "sign in", .rules = LIST("login.example")},
	{.id = "time", .says = "NTP", .rules = LIST("pool.example:123/udp")},
	{.id = "update", .says = "update itself", .rules = LIST("downloads.example")},
	{.id = "web",
	 .says = "any website",
	 .rules = no_rules,
	 .web = true,
	 .asks = true,
	 .warning = "it could send your code anywhere"},
};

static const struct preset little_presets[] = {
	{.name = "locked", .permissions = LIST("model")},
	{.name = "standard",
	 .permissions =
		 LIST("model", "update", "install:system", "languages", "github", "error-reports")},
	{.name = "open",
	 .permissions = LIST("model"),
	 .open = true,
	 .asks = true,
	 .warning = "everything public"},
	{.name = "bake", .permissions = LIST("install:system", "install")},
};

static const struct agent little_agents[] = {
	{.name = "claude",
	 .model = LIST("model:anthropic"),
	 .update = LIST("registry.example"),
	 .sign_in = LIST("login.claude.example")},
	{.name = "both", .model = LIST("model:anthropic", "model:openai")},
};

static const struct catalogue little_catalogue = {
	.version = "test",
	.permissions = little_permissions,
	.n_permissions = sg_array_len(little_permissions),
	.presets = little_presets,
	.n_presets = sg_array_len(little_presets),
	.agents = little_agents,
	.n_agents = sg_array_len(little_agents),
};

#endif
