/* SPDX-License-Identifier: Apache-2.0 */
/* oci_config: what is added to a container's configuration, and that nothing else is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/json_place.h"
#include "sandbox/engine/oci_config.h"
#include "sandbox/engine/oci_seccomp.h"
#include "sandbox/engine/oci_state.h"

/* A limit that is none, as podman writes it. */
#define LIMITS "\"rlimits\":[{\"hard\":18446744073709551615,\"type\":\"RLIMIT_CORE\"}]"

static char *added(const char *config, char *const *env, bool no_vsock)
{
	const struct oci_additions a = {.env = env, .no_vsock = no_vsock};
	struct err e;
	char *text = oci_config_add(span_of_string(config), &a, &e);

	if (!text)
		fail_msg("%s", e.text);
	return text;
}

static void assert_added(const char *config, char *const *env, const char *wanted)
{
	char *text = added(config, env, false);

	assert_string_equal(text, wanted);
	free(text);
}

static void variables_are_added_and_none_is_replaced(void **state)
{
	char *env[] = {"A=1", "B=\"2\"", NULL};

	assert_added("{ \"process\" : {" LIMITS ",\"env\":[]} }", env,
		     "{ \"process\" : {" LIMITS ",\"env\":[\"A=1\",\"B=\\\"2\\\"\"]} }");
	assert_added("{\"process\":{\"env\":[\"B=x\",\"AA=y\"]}}", env,
		     "{\"process\":{\"env\":[\"A=1\",\"B=x\",\"AA=y\"]}}");
	assert_added("{\"process\":{\"env\":[\"B=x\",\"A\"]}}", env,
		     "{\"process\":{\"env\":[\"B=x\",\"A\"]}}");
	assert_added(
		"{\"x\":[\"process\",{\"env\":[]}],\"process\":{\"x\":\"\\\"}]\",\"env\":[\"C\"]}}",
		env,
		"{\"x\":[\"process\",{\"env\":[]}],\"process\":{\"x\":\"\\\"}]\",\"env\":[\"A=1\","
		"\"B=\\\"2\\\"\",\"C\"]}}");
	assert_added("{\"any\":-1.50e2}", NULL, "{\"any\":-1.50e2}");
}

static void what_is_no_configuration_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{\"process\":{}}",
		"{\"process\":{\"env\":7}}",
		"{\"process\":{\"e\\u006ev\":[]}}",
		"{\"process\":{\"env\":[]},\"process\":{\"env\":[]}}",
		"{\"process\":{\"env\":[]},\"linux\":{\"seccomp\":{\"syscalls\":[]}}}",
		"{\"process\":{\"env\":[]},\"linux\":{\"seccomp\":{\"defaultAction\":\"x\",\"syscalls\":[{}]}}}",
	};
	char *env[] = {"A=1", NULL};
	const struct oci_additions a = {.env = env, .no_vsock = true};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e;

		if (oci_config_add(span_of_string(bad[i]), &a, &e))
			fail_msg("taken: %s", bad[i]);
	}
}

static void limits_that_are_none_are_no_fault(void **state)
{
	const char *config =
		"{\"process\":{" LIMITS "},\"root\":{\"path\":\"/r\"},\"annotations\":{"
		"\"sandgate.policy\":\"deny\"}}";
	struct oci_root root;
	struct oci_network n;
	struct oci_state s;
	struct err e;

	assert_int_equal(oci_network_parse(span_of_string(config), &n, &e), 0);
	assert_int_equal(oci_root_parse(span_of_string(config), &root, &e), 0);
	assert_string_equal(root.path, "/r");
	assert_false(root.readonly);
	assert_int_equal(oci_config_words(span_of_string(config), &s, &e), 0);
	assert_string_equal(s.say[OCI_POLICY], "deny");
	oci_state_free(&s);
	assert_int_equal(
		oci_root_parse(span_of_string("{\"root\":{\"path\":\"/r\",\"readonly\":true}}"),
			       &root, &e),
		0);
	assert_true(root.readonly);
	assert_int_equal(oci_root_parse(span_of_string("{\"root\":{\"path\":\"r\"}}"), &root, &e),
			 -1);
}

/* --- the filter --- */

static bool names(const json_t *rule, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(rule, "names"), i,
			   one) if (strcmp(json_string_value(one), name) == 0) return true;
	return false;
}

/* Of a rule that is only masked, as all that are written are; other arguments are 0. */
static bool matches(const json_t *rule, uint64_t family)
{
	json_t *arg;
	size_t i;

	json_array_foreach(json_object_get(rule, "args"), i, arg)
	{
		uint64_t mask = (uint64_t)json_integer_value(json_object_get(arg, "value"));
		uint64_t two = (uint64_t)json_integer_value(json_object_get(arg, "valueTwo"));
		bool masked = strcmp(json_string_value(json_object_get(arg, "op")),
				     "SCMP_CMP_MASKED_EQ") == 0;

		if (json_integer_value(json_object_get(arg, "index")) == 0)
			assert_true(masked);
		if (masked && (family & mask) != two)
			return false;
	}
	return true;
}

/* The action for socket(family): none may be told apart by the order of rules. */
static const char *action_of(const json_t *seccomp, uint64_t family)
{
	const char *action = json_string_value(json_object_get(seccomp, "defaultAction"));
	const char *found = NULL;
	json_t *rule;
	size_t i;

	json_array_foreach(json_object_get(seccomp, "syscalls"), i, rule)
	{
		const char *one = json_string_value(json_object_get(rule, "action"));

		if (!names(rule, "socket") || !matches(rule, family))
			continue;
		assert_true(!found || strcmp(found, one) == 0);
		found = one;
	}
	return found ? found : action;
}

static json_t *filtered(const char *text)
{
	json_t *seccomp = json_loads(text, 0, NULL);
	struct err e;

	assert_non_null(seccomp);
	if (oci_seccomp_refuse_vsock(seccomp, &e))
		fail_msg("%s", e.text);
	return seccomp;
}

static void check_families(const json_t *seccomp, const char *usual, uint64_t refused)
{
	for (uint64_t upper = 0; upper < 2; upper++)
		for (uint64_t f = 0; f < 64; f++) {
			bool out = f == AF_VSOCK || f == refused;
			const char *action = action_of(seccomp, f | upper << 32 | upper << 63);

			assert_string_equal(action, out ? "SCMP_ACT_ERRNO" : usual);
		}
}

static void a_filter_refuses_vsock_alone(void **state)
{
	json_t *s = filtered(
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,\"syscalls\":[{"
		"\"names\":[\"read\",\"socket\",\"socketcall\"],\"action\":\"SCMP_ACT_ALLOW\"}]}");
	json_t *rules = json_object_get(s, "syscalls"), *last;

	check_families(s, "SCMP_ACT_ALLOW", AF_VSOCK);
	last = json_array_get(rules, json_array_size(rules) - 1);
	assert_true(names(last, "read") && !names(last, "socket") && !names(last, "socketcall"));
	assert_true(names(json_array_get(rules, 0), "socketcall"));
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rules, 0), "errnoRet")),
			 1);
	json_decref(s);
	s = filtered("{\"defaultAction\":\"SCMP_ACT_ALLOW\"}");
	check_families(s, "SCMP_ACT_ALLOW", AF_VSOCK);
	json_decref(s);
	s = filtered("{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[]}");
	assert_string_equal(action_of(s, AF_INET), "SCMP_ACT_ERRNO");
	json_decref(s);
}

static void conditions_of_a_filter_stay(void **state)
{
	static const char form[] =
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"socket\"],\"action\":"
		"\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":16,\"op\":\"SCMP_CMP_%s\"}]}]}";
	static const struct {
		const char *op;
		uint64_t first, last; /* that are allowed */
	} all[] = {{"EQ", 16, 16}, {"LT", 0, 15}, {"LE", 0, 16}, {"GE", 16, 63}, {"GT", 17, 63}};
	char text[512];
	json_t *s;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(text, sizeof(text), form, all[i].op);
		s = filtered(text);
		for (uint64_t f = 0; f < 64; f++) {
			bool in = f >= all[i].first && f <= all[i].last && f != AF_VSOCK;

			assert_string_equal(action_of(s, f),
					    in ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO");
		}
		json_decref(s);
	}
	snprintf(text, sizeof(text), form, "NE");
	s = filtered(text);
	check_families(s, "SCMP_ACT_ALLOW", 16);
	json_decref(s);
}

/* Two conditions about one argument are two rules to a runtime. */
static void repeated_conditions_are_rules_of_their_own(void **state)
{
	json_t *s = filtered(
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"socket\"],\"action\":"
		"\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":2,\"op\":\"SCMP_CMP_EQ\"},"
		"{\"index\":0,\"value\":40,\"op\":\"SCMP_CMP_GE\"}]}]}");

	assert_string_equal(action_of(s, 2), "SCMP_ACT_ALLOW");
	assert_string_equal(action_of(s, 41), "SCMP_ACT_ALLOW");
	assert_string_equal(action_of(s, 40), "SCMP_ACT_ERRNO");
	assert_string_equal(action_of(s, 3), "SCMP_ACT_ERRNO");
	json_decref(s);
}

static void a_value_is_found_by_its_keys(void **state)
{
	struct span text = span_of_string(
		"{\"a\\\"\":1,\"b\":\"}\",\"c\":{\"d\" : [ {\"e\":\"]\"} ] }, \"f\":tru");
	struct span found = json_place_find(text, (const char *const[]){"c", "d", NULL});

	assert_true(span_equal(found, span_of_string("[ {\"e\":\"]\"} ]")));
	found = json_place_find(text, (const char *const[]){"f", NULL});
	assert_true(span_equal(found, span_of_string("tru")));
	assert_null(json_place_find(text, (const char *const[]){"e", NULL}).p);
	assert_null(json_place_find(text, (const char *const[]){"b", "x", NULL}).p);
	assert_null(json_place_find(span_of_string("{\"a"), (const char *const[]){"b", NULL}).p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_are_added_and_none_is_replaced),
		cmocka_unit_test(what_is_no_configuration_is_refused),
		cmocka_unit_test(limits_that_are_none_are_no_fault),
		cmocka_unit_test(a_filter_refuses_vsock_alone),
		cmocka_unit_test(conditions_of_a_filter_stay),
		cmocka_unit_test(repeated_conditions_are_rules_of_their_own),
		cmocka_unit_test(a_value_is_found_by_its_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
