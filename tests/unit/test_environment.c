/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "broker/placeholder.h"
#include "sandbox/engine/environment.h"

static char *const person[] = {
	"PATH=/usr/bin",
	"HOME=/home/u",
	"USER=u",
	"LC_TIME=C",
	"TERM=xterm",
	"SSH_AUTH_SOCK=/s",
	"EXAMPLE_TOKEN=x",
	"AWS_SECRET_ACCESS_KEY=x",
	"DBUS_SESSION_BUS_ADDRESS=x",
	"XDG_RUNTIME_DIR=/run/user/1",
	"http_proxy=http://u:p@h",
	"LD_PRELOAD=x",
	"PATHS=no",
	"PWD=/old",
	"TZ",
	NULL,
};

static struct environment_request plain(void)
{
	return (struct environment_request){
		.person = person, .sandbox = "box", .home = "/home/u", .workdir = "/w"};
}

static void only_the_harmless_passes(void **state)
{
	struct environment_request r = plain();
	static const char *const gone[] = {"SSH_AUTH_SOCK",
					   "EXAMPLE_TOKEN",
					   "AWS_SECRET_ACCESS_KEY",
					   "DBUS_SESSION_BUS_ADDRESS",
					   "XDG_RUNTIME_DIR",
					   "http_proxy",
					   "LD_PRELOAD",
					   "PATHS",
					   "TZ",
					   "APT_CONFIG"};
	char **env = environment_build(&r);

	assert_non_null(env);
	assert_string_equal(environment_get(env, "PATH"), "/usr/bin");
	assert_string_equal(environment_get(env, "LC_TIME"), "C");
	assert_string_equal(environment_get(env, "TERM"), "xterm");
	assert_string_equal(environment_get(env, "USER"), "u");
	assert_string_equal(environment_get(env, "PWD"), "/w");
	assert_string_equal(environment_get(env, "SANDGATE"), "box");
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		assert_null(environment_get(env, gone[i]));
	environment_free(env);
}

static void what_is_added_wins_and_the_last_of_it(void **state)
{
	static const char *const added[] = {"A=1", "PATH=/mine", "A=2=3", "EMPTY=", NULL};
	struct environment_request r = plain();
	size_t n = 0;
	char **env;

	r.added = added;
	env = environment_build(&r);
	assert_string_equal(environment_get(env, "A"), "2=3");
	assert_string_equal(environment_get(env, "PATH"), "/mine");
	assert_string_equal(environment_get(env, "EMPTY"), "");
	for (char **p = env; *p; p++)
		n += strncmp(*p, "A=", 2) == 0 || strncmp(*p, "PATH=", 5) == 0;
	assert_int_equal(n, 2);
	environment_free(env);
}

/* In a credential's variable; the person's own --env goes before it. */
static void a_credential_has_a_placeholder(void **state)
{
	static const uint8_t seed[PLACEHOLDER_SEED] = {1};
	struct credential with[] = {
		{.host = (char *)"a.example", .name = (char *)"X", .env = (char *)"A_KEY"},
		{.host = (char *)"b.example", .name = (char *)"X"},
		{.host = (char *)"c.example", .name = (char *)"X", .env = (char *)"C_KEY"},
	};
	const struct credential_list list = {with, sg_array_len(with)};
	const char *const added[] = {"C_KEY=mine", NULL};
	struct environment_request r = plain();
	char **env;

	r.credentials = &list;
	r.placeholder_seed = seed;
	r.added = added;
	env = environment_build(&r);
	assert_true(placeholder_is_all(span_of_string(environment_get(env, "A_KEY"))));
	assert_string_equal(environment_get(env, "C_KEY"), "mine");
	environment_free(env);
}

static void root_inside_is_root_in_the_environment(void **state)
{
	struct environment_request r = plain();
	char **env;

	r.user = "root";
	r.home = "/root";
	r.apt_config = "/run/x";
	env = environment_build(&r);
	assert_string_equal(environment_get(env, "USER"), "root");
	assert_string_equal(environment_get(env, "LOGNAME"), "root");
	assert_string_equal(environment_get(env, "HOME"), "/root");
	assert_string_equal(environment_get(env, "APT_CONFIG"), "/run/x");
	environment_free(env);
}

static void without_a_path_there_is_the_usual_one(void **state)
{
	struct environment_request r = plain();
	char *const none[] = {NULL};
	char **env;

	r.person = none;
	env = environment_build(&r);
	assert_non_null(strstr(environment_get(env, "PATH"), "/usr/bin"));
	environment_free(env);
}

static void the_certificates_are_named_for_every_kind_of_program(void **state)
{
	static const char *const of_the_bundle[] = {
		"SSL_CERT_FILE",     "REQUESTS_CA_BUNDLE",  "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
		"AWS_CA_BUNDLE",     "CARGO_HTTP_CAINFO",   "DENO_CERT",      "PIP_CERT",
		"NIX_SSL_CERT_FILE", "CODEX_CA_CERTIFICATE"};
	static const char *const added[] = {"SSL_CERT_FILE=/mine", "JAVA_TOOL_OPTIONS=", NULL};
	struct environment_request r = plain();
	char **env = environment_build(&r);

	for (size_t i = 0; i < sizeof(of_the_bundle) / sizeof(of_the_bundle[0]); i++)
		assert_null(environment_get(env, of_the_bundle[i]));
	environment_free(env);
	r.authority = true;
	env = environment_build(&r);
	for (size_t i = 0; i < sizeof(of_the_bundle) / sizeof(of_the_bundle[0]); i++)
		assert_string_equal(environment_get(env, of_the_bundle[i]),
				    "/run/sandbox-files/ca/bundle.pem");
	assert_string_equal(environment_get(env, "NODE_EXTRA_CA_CERTS"),
			    "/run/sandbox-files/ca/extra.pem");
	assert_string_equal(environment_get(env, "JAVA_TOOL_OPTIONS"),
			    "-Djavax.net.ssl.trustStore=/run/sandbox-files/ca/store.p12 "
			    "-Djavax.net.ssl.trustStoreType=PKCS12");
	environment_free(env);
	r.added = added;
	env = environment_build(&r);
	assert_string_equal(environment_get(env, "SSL_CERT_FILE"), "/mine");
	assert_string_equal(environment_get(env, "JAVA_TOOL_OPTIONS"), "");
	environment_free(env);
}

static void the_proxy_is_named_for_every_kind_of_program(void **state)
{
	static const char *const names[] = {"HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
					    "https_proxy", "ALL_PROXY",	 "all_proxy"};
	static const char *const added[] = {"https_proxy=http://mine:1", NULL};
	struct environment_request r = plain();
	const char *java;
	char **env;

	r.by_proxy = true;
	env = environment_build(&r);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(environment_get(env, names[i]),
				    "http://gateway.sandgate.internal:3128");
	assert_string_equal(environment_get(env, "NO_PROXY"),
			    "localhost,127.0.0.1,::1,host.sandgate.internal,box");
	assert_string_equal(environment_get(env, "no_proxy"), environment_get(env, "NO_PROXY"));
	assert_string_equal(environment_get(env, "NODE_USE_ENV_PROXY"), "1");
	assert_int_equal(
		strncmp(environment_get(env, "JAVA_TOOL_OPTIONS"), "-Dhttp.proxyHost=", 17), 0);
	environment_free(env);
	r.added = added;
	r.authority = true;
	env = environment_build(&r);
	assert_string_equal(environment_get(env, "https_proxy"), "http://mine:1");
	java = environment_get(env, "JAVA_TOOL_OPTIONS");
	assert_non_null(strstr(java, "-Djavax.net.ssl.trustStoreType=PKCS12 -Dhttp.proxyHost="
				     "gateway.sandgate.internal -Dhttp.proxyPort=3128 "));
	assert_non_null(strstr(java, " -Dhttps.proxyHost=gateway.sandgate.internal"));
	environment_free(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_harmless_passes),
		cmocka_unit_test(what_is_added_wins_and_the_last_of_it),
		cmocka_unit_test(a_credential_has_a_placeholder),
		cmocka_unit_test(root_inside_is_root_in_the_environment),
		cmocka_unit_test(without_a_path_there_is_the_usual_one),
		cmocka_unit_test(the_certificates_are_named_for_every_kind_of_program),
		cmocka_unit_test(the_proxy_is_named_for_every_kind_of_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
