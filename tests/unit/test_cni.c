/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime says to the plugin of container networks, and what it is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cni/config.h"
#include "cni/result.h"
#include "cni/version.h"

/* --- the environment --- */

static const char *environment[5]; /* command, id, device, namespace, path */

static char *from_environment(const char *name)
{
	static const char *const names[] = {"CNI_COMMAND", "CNI_CONTAINERID", "CNI_IFNAME",
					    "CNI_NETNS", "CNI_PATH"};

	for (size_t i = 0; i < sg_array_len(names); i++)
		if (strcmp(names[i], name) == 0)
			return (char *)environment[i];
	return NULL;
}

static enum cni_code read_call(const char *command, const char *id, const char *device,
			       const char *netns, struct cni_call *out)
{
	struct err e;

	environment[0] = command;
	environment[1] = id;
	environment[2] = device;
	environment[3] = netns;
	return cni_call_read(from_environment, out, &e);
}

static void calls_are_read(void **state)
{
	struct cni_call c;

	assert_int_equal(read_call("ADD", "abc", "eth0", "/run/netns/x", &c), CNI_OK);
	assert_int_equal(c.command, CNI_ADD);
	assert_string_equal(c.netns, "/run/netns/x");
	assert_null(c.path);
	assert_int_equal(read_call("DEL", "abc", "eth0", "", &c), CNI_OK);
	assert_null(c.netns);
	assert_int_equal(read_call("VERSION", NULL, NULL, NULL, &c), CNI_OK);
	assert_int_equal(c.command, CNI_VERSION);
}

static void calls_are_refused(void **state)
{
	static const char *const ids[] = {NULL, "", "-a", ".a", "a/b", "a b", "a\n", "\xc3\xa4"};
	static const char *const devices[] = {NULL,    "",    "lo",	".",   "..",
					      "a/b",   "a b", "a:b",	"a%d", "sixteen-letters-",
					      "a\x7f", "all", "default"};
	struct cni_call c;

	assert_int_equal(read_call(NULL, "a", "eth0", "/n", &c), CNI_BAD_ENVIRONMENT);
	assert_int_equal(read_call("add", "a", "eth0", "/n", &c), CNI_BAD_ENVIRONMENT);
	assert_int_equal(read_call("ADD", "a", "eth0", NULL, &c), CNI_BAD_ENVIRONMENT);
	assert_int_equal(read_call("CHECK", "a", "eth0", "", &c), CNI_BAD_ENVIRONMENT);
	for (size_t i = 0; i < sg_array_len(ids); i++)
		assert_int_equal(read_call("ADD", ids[i], "eth0", "/n", &c), CNI_BAD_ENVIRONMENT);
	for (size_t i = 0; i < sg_array_len(devices); i++)
		assert_int_equal(read_call("ADD", "a", devices[i], "/n", &c), CNI_BAD_ENVIRONMENT);
	assert_int_equal(read_call("DEL", "a", "all", "/n", &c), CNI_OK);
	assert_int_equal(read_call("ADD", "a", "all0", "/n", &c), CNI_OK);
}

static const char *name_of(const char *id, const char *device, char out[SANDBOX_NAME_SIZE])
{
	struct cni_call c;

	assert_int_equal(read_call("ADD", id, device, "/n", &c), CNI_OK);
	cni_call_name(&c, out);
	assert_true(sandbox_name_valid(out));
	return out;
}

static void names_tell_containers_apart(void **state)
{
	static const char *const pairs[][2] = {
		{"sandbox-worker-1", "eth0"},
		{"sandbox-worker-2", "eth0"},
		{"Abc", "eth0"},
		{"abc", "eth0"},
		{"a_c", "eth0"},
		{"a-c", "eth0"},
		{"a.c", "eth0"},
		{"abc", "eth.1"},
		{"abc", "eth-1"},
		{"abc", "ETH-1"},
		{"abc-eth", "1"},
	};
	char name[SANDBOX_NAME_SIZE], other[SANDBOX_NAME_SIZE];

	assert_string_equal(name_of("0123456789abcdef0123456789abcdef", "eth0", name),
			    "cni-0123456789ab");
	assert_string_equal(name_of("abc", "eth0", name), "cni-abc");
	assert_string_equal(name_of("abc", "net1", name), "cni-abc-net1");
	for (size_t i = 0; i < sg_array_len(pairs); i++)
		for (size_t j = 0; j < i; j++) {
			name_of(pairs[i][0], pairs[i][1], name);
			name_of(pairs[j][0], pairs[j][1], other);
			assert_string_not_equal(name, other);
		}
}

/* --- the configuration --- */

static struct cni_config config;
static struct err error;

static enum cni_code parse(const char *text)
{
	return cni_config_parse(span_of_string(text), &config, &error);
}

#define WITH(keys) "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"type\":\"sandgate\"," keys "}"

static void all_keys(void **state)
{
	assert_int_equal(
		parse(WITH(
			"\"policy\":\"standard\",\"allow\":[\"a.example\",\"b.example\"],"
			"\"deny\":\"c.example\",\"inbound\":false,\"annotations\":false,"
			"\"pcap\":\"/var/log/pods\",\"dns\":{},\"args\":{\"x\":1},"
			"\"prevResult\":{\"ips\":[]},\"capabilities\":{\"portMappings\":true},"
			"\"runtimeConfig\":{\"portMappings\":[{\"hostPort\":80,\"containerPort\":8080,"
			"\"protocol\":\"TCP\",\"hostIP\":\"10.0.0.1\"}]}")),
		CNI_OK);
	assert_string_equal(config.policy, "standard");
	assert_int_equal(config.allow.n, 2);
	assert_string_equal(config.allow.v[1], "b.example");
	assert_null(config.allow.v[2]);
	assert_string_equal(config.deny.v[0], "c.example");
	assert_true(config.no_inbound);
	assert_string_equal(config.pcap, "/var/log/pods");
	assert_non_null(config.before);
	assert_int_equal(config.n_ports, 1);
	assert_int_equal(config.ports[0].host.port, 80);
	assert_int_equal(config.ports[0].sandbox, 8080);
	cni_config_free(&config);
	assert_int_equal(parse(WITH("\"ipam\":{}")), CNI_OK);
	assert_null(config.ipam);
	cni_config_free(&config);
}

struct refused {
	const char *text;
	enum cni_code code;
	const char *word; /* of the message */
};

static void are_refused(const struct refused *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(parse(r[i].text), r[i].code);
		if (!strstr(error.text, r[i].word))
			fail_msg("\"%s\" has no \"%s\"", error.text, r[i].word);
		assert_null(config.document);
	}
}

static void bad_configurations(void **state)
{
	static const struct refused r[] = {
		{"", CNI_BAD_JSON, "not a JSON object"},
		{"[]", CNI_BAD_JSON, "another value"},
		{"{\"cniVersion\":\"1.0.0\",\"cniVersion\":\"1.0.0\"}", CNI_BAD_JSON, "duplicate"},
		{"{}", CNI_BAD_VERSION, "not said"},
		{"{\"cniVersion\":\"\"}", CNI_BAD_VERSION, "not said"},
		{"{\"cniVersion\":\"0.3.0\"}", CNI_BAD_VERSION, "0.3.0 is not spoken"},
		{"{\"cniVersion\":1}", CNI_BAD_CONFIG, "a text"},
		{WITH("\"polcy\":\"x\""), CNI_BAD_CONFIG, "did you mean policy?"},
		{WITH("\"policy\":7"), CNI_BAD_CONFIG, "preset"},
		{WITH("\"policy\":\"\""), CNI_BAD_CONFIG, "preset"},
		{WITH("\"policy\":\"a/b\""), CNI_BAD_CONFIG, "absolute"},
		{WITH("\"policy\":\"a\\u001bb\""), CNI_BAD_CONFIG, "preset"},
		{WITH("\"policy\":\"a\\u0000b\""), CNI_BAD_JSON, "not a JSON object"},
		{WITH("\"allow\":{}"), CNI_BAD_CONFIG, "list"},
		{WITH("\"allow\":[\"\"]"), CNI_BAD_CONFIG, "one line"},
		{WITH("\"deny\":[\"a\\nb\"]"), CNI_BAD_CONFIG, "one line"},
		{WITH("\"only\":[\"a\"],\"allow\":[\"b\"]"), CNI_BAD_CONFIG, "nothing else"},
		{WITH("\"inbound\":\"no\""), CNI_BAD_CONFIG, "true or false"},
		{WITH("\"annotations\":1"), CNI_BAD_CONFIG, "true or false"},
		{WITH("\"pcap\":\"pods\""), CNI_BAD_CONFIG, "absolute"},
		{WITH("\"ipam\":{\"type\":\"../x\"}"), CNI_BAD_CONFIG, "plugin"},
		{WITH("\"ipam\":{\"subnet\":\"x\"}"), CNI_BAD_CONFIG, "plugin"},
		{WITH("\"ipam\":{\"type\":\"sandgate\"}"), CNI_BAD_CONFIG, "gives no addresses"},
		{WITH("\"prevResult\":[]"), CNI_BAD_CONFIG, "result"},
		{WITH("\"runtimeConfig\":[]"), CNI_BAD_CONFIG, "object"},
		{WITH("\"runtimeConfig\":{\"mac\":\"x\"}"), CNI_BAD_FIELD, "runtimeConfig: mac"},
		{WITH("\"runtimeConfig\":{\"portMappings\":[{\"hostPort\":0,\"containerPort\":1}]}"),
		 CNI_BAD_CONFIG, "65535"},
		{WITH("\"runtimeConfig\":{\"portMappings\":[{\"hostPort\":1,\"containerPort\":65536}]}"),
		 CNI_BAD_CONFIG, "65535"},
		{WITH("\"runtimeConfig\":{\"portMappings\":[{\"hostPort\":1,\"containerPort\":1,"
		      "\"protocol\":\"sctp\"}]}"),
		 CNI_BAD_FIELD, "only TCP"},
		{WITH("\"runtimeConfig\":{\"portMappings\":[{\"hostPort\":1,\"containerPort\":1,"
		      "\"hostIP\":\"host\"}]}"),
		 CNI_BAD_CONFIG, "hostIP"},
	};

	are_refused(r, sg_array_len(r));
}

static void too_much(void **state)
{
	char *text = malloc(CNI_CONFIG_MAX + 64);
	size_t n;

	assert_non_null(text);
	memset(text, ' ', CNI_CONFIG_MAX + 64);
	assert_int_equal(cni_config_parse(span_of(text, CNI_CONFIG_MAX + 1), &config, &error),
			 CNI_BAD_JSON);
	n = (size_t)sprintf(text, "%s", "{\"cniVersion\":\"1.0.0\",\"allow\":[");
	for (size_t i = 0; i <= CNI_WORDS_MAX; i++)
		n += (size_t)sprintf(text + n, "%s\"a\"", i ? "," : "");
	sprintf(text + n, "]}");
	assert_int_equal(parse(text), CNI_BAD_CONFIG);
	assert_non_null(strstr(error.text, "too many"));
	free(text);
}

#define POD(keys) \
	"\"runtimeConfig\":{\"io.kubernetes.cri.pod-annotations\":{\"other\":\"x\"," keys "}}"

static void annotations(void **state)
{
	static const struct refused r[] = {
		{WITH("\"annotations\":true," POD("\"sandgate.policy\":\"/etc/passwd\"")),
		 CNI_BAD_CONFIG, "the pod's annotations: policy"},
		{WITH("\"annotations\":true," POD("\"sandgate.name\":\"x\"")), CNI_BAD_CONFIG,
		 "sandgate.name: unknown"},
		{WITH("\"annotations\":true," POD("\"sandgate.allow\":[\"x\\u0007\"]")),
		 CNI_BAD_CONFIG, "one line"},
	};

	are_refused(r, sg_array_len(r));
	assert_int_equal(parse(WITH("\"policy\":\"deny\"," POD("\"sandgate.policy\":\"open\""))),
			 CNI_OK);
	assert_string_equal(config.policy, "deny");
	cni_config_free(&config);
	assert_int_equal(parse(WITH("\"annotations\":true,\"policy\":\"web\",\"allow\":[\"a\"],"
				    "\"deny\":[\"b\"]," POD(
					    "\"sandgate.only\":\"c\",\"sandgate.deny\":\"d\""))),
			 CNI_OK);
	assert_null(config.policy);
	assert_int_equal(config.allow.n, 0);
	assert_string_equal(config.only.v[0], "c");
	assert_int_equal(config.deny.n, 2);
	cni_config_free(&config);
}

/* --- results --- */

static json_t *ips(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);

	assert_non_null(o);
	return o;
}

static void addresses_of_ipam(void **state)
{
	json_t *o = ips("{\"ips\":[{\"address\":\"10.1.2.3/24\",\"gateway\":\"10.1.2.1\"},"
			"{\"address\":\"fd00::5/80\"}]}");
	struct airlock_addresses a;
	struct addr want = airlock_address("10.1.2.3");

	assert_int_equal(cni_result_link(o, &a, &error), 0);
	assert_true(addr_equal(&a.sandbox_v4, &want));
	assert_int_equal(a.v4_bits, 24);
	want = airlock_address("10.1.2.1");
	assert_true(addr_equal(&a.gate_v4, &want));
	want = airlock_address(AIRLOCK_GATE_V6);
	assert_true(addr_equal(&a.gate_v6, &want));
	assert_int_equal(a.v6_bits, 80);
	json_decref(o);
}

static void bad_addresses(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"ips\":[]}",
		"{\"ips\":{}}",
		"{\"ips\":[7]}",
		"{\"ips\":[{\"address\":\"10.1.2.3\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/33\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/2x\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/999999999999\"}]}",
		"{\"ips\":[{\"address\":\"fd00::5/129\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/24\",\"gateway\":\"10.1.2.3\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/24\",\"gateway\":\"fd00::1\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/24\",\"gateway\":\"x\"}]}",
		"{\"ips\":[{\"address\":\"10.1.2.3/24\"},{\"address\":\"10.1.2.4/24\"}]}",
	};
	struct airlock_addresses a;

	for (size_t i = 0; i < sg_array_len(texts); i++) {
		json_t *o = ips(texts[i]);

		assert_int_equal(cni_result_link(o, &a, &error), -1);
		json_decref(o);
	}
}

static void results_of_each_version(void **state)
{
	static const char *const versions[] = {"0.3.1", "0.4.0", "1.0.0"};
	const struct cni_call call = {.ifname = "eth0", .netns = "/run/netns/x"};
	const struct airlock_addresses a = airlock_usual_addresses();
	const uint8_t mac[6] = {2, 0x73, 0x67, 0, 0, 2};

	for (size_t i = 0; i < sg_array_len(versions); i++) {
		json_t *o = cni_result_alone(&call, versions[i], &a, mac, i != 0);
		const json_t *all = json_object_get(o, "ips");

		assert_true(cni_version_is_known(versions[i]));
		assert_string_equal(json_string_value(json_object_get(o, "cniVersion")),
				    versions[i]);
		assert_int_equal(json_array_size(all), i ? 2 : 1);
		assert_int_equal(!json_object_get(json_array_get(all, 0), "version"), i == 2);
		json_decref(o);
	}
	assert_false(cni_version_is_known("1.1.0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_read),
		cmocka_unit_test(calls_are_refused),
		cmocka_unit_test(names_tell_containers_apart),
		cmocka_unit_test(all_keys),
		cmocka_unit_test(bad_configurations),
		cmocka_unit_test(too_much),
		cmocka_unit_test(annotations),
		cmocka_unit_test(addresses_of_ipam),
		cmocka_unit_test(bad_addresses),
		cmocka_unit_test(results_of_each_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
