/* SPDX-License-Identifier: Apache-2.0 */
/* What dockerd 20.10 says to a network driver, as it was recorded, and what it might say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "docker/message.h"
#include "docker/options.h"
#include "docker/routes.h"

#define NETWORK	 "c8eb21c4aa5eadc228b2b5e93036fd430a55b50ae0c787fd32f8fc9273a3d8cf"
#define ENDPOINT "362ac3dacb39129576f8ab8b42b5619b073c94f8069380b99a6f461349747244"

static struct docker_message m;

static void parse(const char *text)
{
	struct err e = {""};

	if (docker_message_parse(span_of_string(text), &m, &e))
		fail_msg("%s", e.text);
}

static void refused(const char *text, const char *why)
{
	struct docker_message empty = {0};
	struct err e = {""};

	assert_int_equal(docker_message_parse(span_of_string(text), &m, &e), -1);
	assert_non_null(strstr(e.text, why));
	assert_memory_equal(&m, &empty, sizeof(m));
}

static void create_network(void **state)
{
	char text[DOCKER_ADDRESS_TEXT_MAX];

	parse("{\"NetworkID\":\"" NETWORK
	      "\",\"Options\":{\"com.docker.network.enable_ipv6\":false,"
	      "\"com.docker.network.generic\":{\"allow\":\"a.example\",\"policy\":\"standard\"}},"
	      "\"IPv4Data\":[{\"AddressSpace\":\"LocalDefault\",\"Gateway\":\"10.77.0.1/24\","
	      "\"Pool\":\"10.77.0.0/24\"}],\"IPv6Data\":[]}");
	assert_string_equal(m.network, NETWORK);
	assert_string_equal(m.endpoint, "");
	assert_int_equal(m.n_options, 2);
	assert_string_equal(m.options[0].key, "allow");
	assert_string_equal(m.options[1].value, "standard");
	assert_true(m.gateway_v4.given);
	assert_string_equal(docker_address_format(&m.gateway_v4, text), "10.77.0.1/24");
	assert_false(m.gateway_v6.given);
	assert_false(m.internal);
	docker_message_free(&m);
}

static void create_endpoint(void **state)
{
	char text[DOCKER_MAC_TEXT_SIZE];

	parse("{\"NetworkID\":\"" NETWORK "\",\"EndpointID\":\"" ENDPOINT
	      "\",\"Interface\":{\"Address\":\"10.77.0.2/24\",\"AddressIPv6\":\"fd00::2/64\","
	      "\"MacAddress\":\"02:42:0a:4d:00:02\"},\"Options\":{}}");
	assert_true(m.v4.given && m.v6.given && m.has_mac);
	assert_int_equal(m.v6.bits, 64);
	assert_string_equal(docker_mac_format(m.mac, text), "02:42:0a:4d:00:02");
	docker_message_free(&m);
}

static void join(void **state)
{
	parse("{\"NetworkID\":\"" NETWORK "\",\"EndpointID\":\"" ENDPOINT
	      "\",\"SandboxKey\":\"/var/run/docker/netns/71508c98b8d4\",\"Options\":{"
	      "\"com.docker.network.endpoint.exposedports\":[{\"Proto\":6,\"Port\":81}],"
	      "\"com.docker.network.generic\":{\"ChildEndpoints\":null,\"ParentEndpoints\":[]},"
	      "\"com.docker.network.portmap\":["
	      "{\"Proto\":6,\"IP\":\"\",\"Port\":81,\"HostIP\":\"127.0.0.1\",\"HostPort\":0,\"HostPortEnd\":0},"
	      "{\"Proto\":6,\"IP\":\"\",\"Port\":80,\"HostIP\":\"\",\"HostPort\":8080,\"HostPortEnd\":8090},"
	      "{\"Proto\":17,\"IP\":\"\",\"Port\":53,\"HostIP\":\"::1\",\"HostPort\":53}]}}");
	assert_string_equal(m.key, "/var/run/docker/netns/71508c98b8d4");
	assert_int_equal(m.n_options, 0);
	assert_int_equal(m.n_ports, 3);
	assert_false(m.ports[0].any_host);
	assert_int_equal(m.ports[0].host_low, 0);
	assert_true(m.ports[1].any_host);
	assert_int_equal(m.ports[1].host_high, 8090);
	assert_int_equal(m.ports[2].proto, 17);
	assert_int_equal(m.ports[2].host_high, 53);
	docker_message_free(&m);
}

static void keys_of_later_versions(void **state)
{
	parse("{\"NetworkID\":\"n1\",\"New\":[{\"a\":1}],\"Options\":null,\"IPv4Data\":null}");
	docker_message_free(&m);
	parse("");
	docker_message_free(&m);
}

static void what_is_wrong(void **state)
{
	refused("[]", "not a JSON object");
	refused("{", "not JSON");
	refused("{\"NetworkID\":\"a\",\"NetworkID\":\"b\"}", "not JSON");
	refused("{\"NetworkID\":\"../x\"}", "NetworkID");
	refused("{\"NetworkID\":7}", "NetworkID");
	refused("{\"EndpointID\":\"" ENDPOINT "0\"}", "EndpointID");
	refused("{\"SandboxKey\":\"relative\"}", "SandboxKey");
	refused("{\"Interface\":{\"Address\":\"10.0.0.1\"}}", "IPv4 address");
	refused("{\"Interface\":{\"Address\":\"10.0.0.1/33\"}}", "IPv4 address");
	refused("{\"Interface\":{\"Address\":\"fd00::1/64\"}}", "IPv4 address");
	refused("{\"Interface\":{\"AddressIPv6\":\"10.0.0.1/24\"}}", "IPv6 address");
	refused("{\"Interface\":{\"MacAddress\":\"02:42\"}}", "MacAddress");
	refused("{\"Interface\":[]}", "Interface");
	refused("{\"IPv4Data\":{}}", "IPv4Data");
	refused("{\"IPv4Data\":[1]}", "IPv4Data");
	refused("{\"Options\":[]}", "Options");
	refused("{\"Options\":{\"com.docker.network.generic\":{\"a\":1}}}", "\"a\"");
	refused("{\"Options\":{\"com.docker.network.generic\":{\"x\":\"1\",\"a\":1}}}", "\"a\"");
}

static void wrong_ports(void **state)
{
	static const char *const ports[] = {
		"7",
		"[7]",
		"[{\"Proto\":6}]",
		"[{\"Proto\":6,\"Port\":65536}]",
		"[{\"Proto\":-1,\"Port\":1}]",
		"[{\"Proto\":6,\"Port\":1,\"HostIP\":\"nowhere\"}]",
		"[{\"Proto\":6,\"Port\":1,\"HostPort\":9,\"HostPortEnd\":8}]",
		"[{\"Proto\":6,\"Port\":1,\"HostPort\":0,\"HostPortEnd\":8}]",
		"[{\"Proto\":\"tcp\",\"Port\":1}]",
	};
	char text[256];

	for (size_t i = 0; i < sg_array_len(ports); i++) {
		snprintf(text, sizeof(text), "{\"Options\":{\"com.docker.network.portmap\":%s}}",
			 ports[i]);
		refused(text, "is not");
	}
}

static void too_many(void **state)
{
	char *text = malloc(1 << 20), *p = text;

	p += sprintf(p, "{\"Options\":{\"com.docker.network.generic\":{\"k\":\"v\"");
	for (int i = 0; i < DOCKER_OPTIONS_MAX; i++)
		p += sprintf(p, ",\"k%d\":\"v\"", i);
	strcpy(p, "}}}");
	refused(text, "options");
	p = text + sprintf(text, "{\"Options\":{\"com.docker.network.portmap\":[0");
	for (int i = 0; i < DOCKER_PORTS_MAX; i++)
		p += sprintf(p, ",0");
	strcpy(p, "]}}");
	refused(text, "published ports");
	free(text);
}

/* --- options of a network --- */

static int options(const char *generic, struct docker_network_options *o, struct err *e)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"Options\":{\"com.docker.network.generic\":%s}}", generic);
	parse(text);
	return docker_network_options_read(&m, o, e);
}

static void options_are_read(void **state)
{
	struct docker_network_options o;
	struct err e = {""};

	assert_int_equal(options("{\"policy\":\"deny\",\"allow\":\"a.example,b.example\","
				 "\"deny\":\"c.example\",\"pcap\":\"/var/tmp\"}",
				 &o, &e),
			 0);
	assert_string_equal(o.policy, "deny");
	assert_string_equal(o.allow, "a.example,b.example");
	assert_string_equal(o.pcap, "/var/tmp");
	assert_null(o.only);
	docker_message_free(&m);
}

static void options_are_refused(void **state)
{
	static const struct {
		const char *generic, *why;
	} wrong[] = {
		{"{\"polcy\":\"deny\"}", "did you mean -o policy?"},
		{"{\"zzzzzz\":\"deny\"}", "there are policy, allow, deny, only and pcap"},
		{"{\"allow\":\"\"}", "it is empty"},
		{"{\"pcap\":\"here\"}", "absolute path"},
	};
	struct docker_network_options o;

	for (size_t i = 0; i < sg_array_len(wrong); i++) {
		struct err e = {""};

		assert_int_equal(options(wrong[i].generic, &o, &e), -1);
		assert_non_null(strstr(e.text, wrong[i].why));
		docker_message_free(&m);
	}
}

static void internal_is_refused(void **state)
{
	struct docker_network_options o;
	struct err e = {""};

	parse("{\"Options\":{\"com.docker.network.internal\":true}}");
	assert_int_equal(docker_network_options_read(&m, &o, &e), -1);
	assert_non_null(strstr(e.text, "-o policy=deny"));
	docker_message_free(&m);
}

/* --- routes --- */

static void routes_of(const char *gateway, const char *wanted)
{
	struct docker_address a;
	json_t *list = json_array();
	char *text;

	assert_true(docker_address_parse(gateway, &a));
	assert_true(docker_routes_add(list, &a));
	text = json_dumps(list, JSON_COMPACT);
	assert_string_equal(text, wanted);
	free(text);
	json_decref(list);
}

static void neighbours_go_to_the_gate(void **state)
{
	routes_of(
		"10.77.0.1/24",
		"[{\"Destination\":\"10.77.0.1/32\",\"RouteType\":1,\"NextHop\":\"\"},"
		"{\"Destination\":\"10.77.0.0/25\",\"RouteType\":0,\"NextHop\":\"10.77.0.1\"},"
		"{\"Destination\":\"10.77.0.128/25\",\"RouteType\":0,\"NextHop\":\"10.77.0.1\"}]");
	routes_of("fd00:1::1/64",
		  "[{\"Destination\":\"fd00:1::1/128\",\"RouteType\":1,\"NextHop\":\"\"},"
		  "{\"Destination\":\"fd00:1::/65\",\"RouteType\":0,\"NextHop\":\"fd00:1::1\"},"
		  "{\"Destination\":\"fd00:1:0:0:8000::/65\",\"RouteType\":0,"
		  "\"NextHop\":\"fd00:1::1\"}]");
	routes_of("10.0.0.1/31", "[]");
	routes_of("10.0.0.1/0",
		  "[{\"Destination\":\"10.0.0.1/32\",\"RouteType\":1,\"NextHop\":\"\"},"
		  "{\"Destination\":\"0.0.0.0/1\",\"RouteType\":0,\"NextHop\":\"10.0.0.1\"},"
		  "{\"Destination\":\"128.0.0.0/1\",\"RouteType\":0,\"NextHop\":\"10.0.0.1\"}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_network),
		cmocka_unit_test(create_endpoint),
		cmocka_unit_test(join),
		cmocka_unit_test(keys_of_later_versions),
		cmocka_unit_test(what_is_wrong),
		cmocka_unit_test(wrong_ports),
		cmocka_unit_test(too_many),
		cmocka_unit_test(options_are_read),
		cmocka_unit_test(options_are_refused),
		cmocka_unit_test(internal_is_refused),
		cmocka_unit_test(neighbours_go_to_the_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
