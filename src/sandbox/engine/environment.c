/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/placeholder.h"
#include "sandbox/files/ca_bundle.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Passed on as they are. How things look and are spelled; nothing that opens a door. */
static const char *const passed[] = {
	"PATH",	    "USER",	 "LOGNAME", "SHELL", "TERM",	    "COLORTERM", "NO_COLOR",
	"CLICOLOR", "LS_COLORS", "COLUMNS", "LINES", "FORCE_COLOR", "LANG",	 "LANGUAGE",
	"TZ",	    "EDITOR",	 "VISUAL",  "PAGER", "LESS",	    "MANPAGER",
};
static const char locale_prefix[] = "LC_";

/*
 * Where programs of each kind look for whom they may trust. Most of these take the place of what
 * the program would trust otherwise, so the file holds all that the host trusts; Node adds to its
 * own list. The store has no password.
 */
static const struct environment_variable authority[] = {
	{"SSL_CERT_FILE", SANDBOX_CA_BUNDLE},
	{"NODE_EXTRA_CA_CERTS", SANDBOX_CA_EXTRA},
	{"REQUESTS_CA_BUNDLE", SANDBOX_CA_BUNDLE},
	{"CURL_CA_BUNDLE", SANDBOX_CA_BUNDLE},
	{"GIT_SSL_CAINFO", SANDBOX_CA_BUNDLE},
	{"AWS_CA_BUNDLE", SANDBOX_CA_BUNDLE},
	{"CARGO_HTTP_CAINFO", SANDBOX_CA_BUNDLE},
	{"DENO_CERT", SANDBOX_CA_BUNDLE},
	{"PIP_CERT", SANDBOX_CA_BUNDLE},
	{"NIX_SSL_CERT_FILE", SANDBOX_CA_BUNDLE},
	{"CODEX_CA_CERTIFICATE", SANDBOX_CA_BUNDLE},
	{"JAVA_TOOL_OPTIONS",
	 "-Djavax.net.ssl.trustStore=" SANDBOX_CA_STORE " -Djavax.net.ssl.trustStoreType=PKCS12"},
};

struct list {
	char **v;
	size_t n, cap;
	bool failed;
};

static size_t name_length(const char *pair)
{
	return strcspn(pair, "=");
}

/* Takes the pair; it replaces one of the same name. */
static void list_put(struct list *l, char *pair)
{
	size_t n;

	if (!pair || l->failed) {
		l->failed = true;
		free(pair);
		return;
	}
	n = name_length(pair) + 1;
	for (size_t i = 0; i < l->n; i++)
		if (strncmp(l->v[i], pair, n) == 0) {
			free(l->v[i]);
			l->v[i] = pair;
			return;
		}
	if (l->n + 1 >= l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 32;
		char **v = reallocarray(l->v, cap, sizeof(*v));

		if (!v) {
			l->failed = true;
			free(pair);
			return;
		}
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = pair;
	l->v[l->n] = NULL;
}

static void list_set(struct list *l, const char *name, const char *value)
{
	char *pair = NULL;

	if (!value)
		return;
	if (asprintf(&pair, "%s=%s", name, value) < 0)
		pair = NULL;
	list_put(l, pair);
}

static bool is_passed(const char *pair)
{
	size_t n = name_length(pair);

	if (!pair[n])
		return false;
	if (strncmp(pair, locale_prefix, sizeof(locale_prefix) - 1) == 0)
		return true;
	for (size_t i = 0; i < sg_array_len(passed); i++)
		if (strlen(passed[i]) == n && memcmp(pair, passed[i], n) == 0)
			return true;
	return false;
}

static void put_placeholders(struct list *l, const struct environment_request *r)
{
	char placeholder[PLACEHOLDER_N + 1];

	for (size_t i = 0; r->credentials && i < r->credentials->n; i++) {
		const struct credential *c = &r->credentials->v[i];

		if (!c->env)
			continue;
		placeholder_make(r->placeholder_seed, c, placeholder);
		list_set(l, c->env, placeholder);
	}
}

const char *environment_get(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* Java reads no variable of these, and this one has its trust store as well. */
static void add_java_proxy(struct list *l)
{
	static const char name[] = "JAVA_TOOL_OPTIONS";
	static const char options[] =
		"-Dhttp.proxyHost=" ENVIRONMENT_PROXY_HOST " -Dhttp.proxyPort=3128 "
		"-Dhttps.proxyHost=" ENVIRONMENT_PROXY_HOST " -Dhttps.proxyPort=3128 "
		"-Dhttp.nonProxyHosts=localhost|127.*|[::1]|host.sandgate.internal";
	const char *before = environment_get(l->v, name);
	_cleanup_free_ char *all = NULL;

	if (asprintf(&all, "%s%s%s", before ? before : "", before ? " " : "", options) < 0) {
		all = NULL;
		l->failed = true;
	}
	list_set(l, name, all);
}

/*
 * What programs read that can be told of a proxy. Some read one case, some the other; a URL of SOCKS
 * in ALL_PROXY stops those that cannot speak it. Node's own fetch asks for the last one.
 */
static void set_proxy(struct list *l, const char *sandbox)
{
	static const char *const names[] = {"HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
					    "https_proxy", "ALL_PROXY",	 "all_proxy"};
	_cleanup_free_ char *not = NULL;

	for (size_t i = 0; i < sg_array_len(names); i++)
		list_set(l, names[i], ENVIRONMENT_PROXY);
	if (asprintf(&not, "localhost,127.0.0.1,::1,host.sandgate.internal,%s", sandbox) < 0) {
		not = NULL;
		l->failed = true;
	}
	list_set(l, "NO_PROXY", not );
	list_set(l, "no_proxy", not );
	list_set(l, "NODE_USE_ENV_PROXY", "1");
	add_java_proxy(l);
}

char **environment_build(const struct environment_request *r)
{
	struct list l = {0};

	list_set(&l, "PATH", DEFAULT_PATH);
	for (char *const *p = r->person; p && *p; p++)
		if (is_passed(*p))
			list_put(&l, strdup(*p));
	list_set(&l, "HOME", r->home);
	list_set(&l, "USER", r->user);
	list_set(&l, "LOGNAME", r->user);
	list_set(&l, "PWD", r->workdir);
	list_set(&l, "APT_CONFIG", r->apt_config);
	list_set(&l, "SANDGATE", r->sandbox);
	for (size_t i = 0; r->authority && i < sg_array_len(authority); i++)
		list_set(&l, authority[i].name, authority[i].value);
	if (r->by_proxy)
		set_proxy(&l, r->sandbox);
	put_placeholders(&l, r);
	for (const char *const *p = r->added; p && *p; p++)
		list_put(&l, strdup(*p));
	if (!l.failed)
		return l.v;
	environment_free(l.v);
	return NULL;
}

char **environment_build_additions(const struct credential_list *credentials,
				   const uint8_t *placeholder_seed)
{
	const struct environment_request r = {.credentials = credentials,
					      .placeholder_seed = placeholder_seed};
	struct list l = {0};

	for (size_t i = 0; i < sg_array_len(authority); i++)
		list_set(&l, authority[i].name, authority[i].value);
	put_placeholders(&l, &r);
	if (!l.failed)
		return l.v;
	environment_free(l.v);
	return NULL;
}

bool environment_trust(size_t i, struct environment_variable *out)
{
	static const char folder[] = SANDBOX_CA "/";

	for (size_t at = 0; at < sg_array_len(authority); at++) {
		if (strncmp(authority[at].value, folder, sizeof(folder) - 1) != 0 || i-- > 0)
			continue;
		*out = authority[at];
		return true;
	}
	return false;
}

void environment_free(char **env)
{
	for (char **p = env; p && *p; p++)
		free(*p);
	free(env);
}
