/* SPDX-License-Identifier: Apache-2.0 */
/* Whom dockerd asks names, and whose endpoint joins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "docker/container.h"
#include "docker/dns_way.h"

static void servers(void **state)
{
	static const char *const elsewhere[] = {
		"",
		"nameserver 192.0.2.53\nnameserver 2001:db8::53\n",
		"# nameserver 127.0.0.1\nnameserver 192.0.2.53 # nameserver 127.0.0.1",
		"search 127.0.0.1\noptions nameserver 127.0.0.1\n",
		"nameserver ::2\nnameserver 12.7.0.1\n",
	};
	static const char *const loopback[] = {
		"nameserver 127.0.0.53\noptions edns0 trust-ad\n",
		"nameserver 192.0.2.53\n  nameserver\t127.0.0.1  # dnsmasq",
		"nameserver127.1.2.3\n",
		"nameserver ::1\n",
		"nameserver 0:0::1%lo\r\n",
		"nameserver ::ffff:127.0.0.1\n",
	};

	for (size_t i = 0; i < sg_array_len(elsewhere); i++)
		assert_false(dns_way_has_loopback(span_of_string(elsewhere[i])));
	for (size_t i = 0; i < sg_array_len(loopback); i++)
		assert_true(dns_way_has_loopback(span_of_string(loopback[i])));
}

#define WORDS(s) span_of(s, sizeof(s) - 1)

static void own_servers(void **state)
{
	assert_true(dns_way_config_has_dns(span_of_string("{\"dns\":[\"192.0.2.53\"]}")));
	assert_false(dns_way_config_has_dns(span_of_string("{\"dns\":[]}")));
	assert_false(dns_way_config_has_dns(span_of_string("{\"dns-search\":[\"x\"]}")));
	assert_false(dns_way_config_has_dns(span_of_string("{\"dns\":")));
	assert_false(dns_way_config_has_dns(span_of("", 0)));
	assert_true(dns_way_words_have_dns(WORDS("dockerd\0--dns=192.0.2.53\0")));
	assert_true(dns_way_words_have_dns(WORDS("dockerd\0--dns\000192.0.2.53\0")));
	assert_false(dns_way_words_have_dns(WORDS("dockerd\0--dns-search\0x\0--debug\0")));
	assert_false(dns_way_words_have_dns(WORDS("dockerd\0--dns")));
	assert_false(dns_way_words_have_dns(WORDS("dockerd\0--dns=\0")));
}

static void config_file(void **state)
{
	assert_true(span_equal(dns_way_config_file(WORDS("dockerd\0--config-file\0/etc/d.json\0")),
			       span_of_string("/etc/d.json")));
	assert_true(span_equal(dns_way_config_file(WORDS("dockerd\0--config-file=/etc/e.json\0")),
			       span_of_string("/etc/e.json")));
	assert_int_equal(dns_way_config_file(WORDS("dockerd\0-H\0fd://\0")).n, 0);
}

/* --- whose it is --- */

static const char network[] =
	"{\"Name\":\"agents\",\"Id\":\"n1\",\"Containers\":{\"ep-e1\":{\"Name\":\"web\","
	"\"EndpointID\":\"e1\"},\"c2\":{\"Name\":\"other\",\"EndpointID\":\"e2\"}}}";

static int find(const char *containers, const char *endpoint, struct docker_container *out,
		struct err *e)
{
	json_t *n = json_loads(network, 0, NULL), *c = json_loads(containers, 0, NULL);
	int rc = docker_container_read(n, c, endpoint, out, e);

	assert_non_null(n);
	json_decref(n);
	json_decref(c);
	return rc;
}

#define ONE(name, networks) \
	"{\"Names\":[\"" name "\"],\"NetworkSettings\":{\"Networks\":" networks "}}"

static void whose_it_is(void **state)
{
	struct docker_container c;
	struct err e = {""};

	assert_int_equal(find("[" ONE("/other", "{\"agents\":{},\"bridge\":{}}") "," ONE(
				      "/web", "{\"agents\":{}}") "]",
			      "e1", &c, &e),
			 0);
	assert_string_equal(c.name, "web");
	assert_string_equal(c.other, "");
	assert_int_equal(find("[" ONE("/web", "{\"n1\":{}}") "]", "e1", &c, &e), 0);
	assert_string_equal(c.other, "");
	assert_int_equal(find("[" ONE("/web", "{\"agents\":{},\"bridge\":{}}") "]", "e1", &c, &e),
			 0);
	assert_string_equal(c.other, "bridge");
}

static void what_is_not_understood(void **state)
{
	static const char *const containers[] = {
		"[]",
		"{}",
		"7",
		"[" ONE("/other", "{\"agents\":{}}") "]",
		"[" ONE("/web", "[]") "]",
		"[" ONE("/web/alias", "{\"agents\":{}}") "]",
	};
	struct docker_container c;

	for (size_t i = 0; i < sg_array_len(containers); i++) {
		struct err e = {""};

		assert_int_equal(find(containers[i], "e1", &c, &e), -1);
		assert_string_equal(e.text, "dockerd's answer is not understood");
		assert_int_equal(find(containers[i], "e3", &c, &e), -1);
	}
}

static int read_network(const char *text, char id[DOCKER_ID_SIZE], char name[DOCKER_NAME_SIZE])
{
	json_t *n = json_loads(text, 0, NULL);
	struct err e;
	int rc;

	assert_non_null(n);
	rc = docker_network_read(n, id, name, &e);
	json_decref(n);
	return rc;
}

#define NETWORK(id, name, driver) \
	"{\"Id\": \"" id "\", \"Name\": \"" name "\", \"Driver\": \"" driver "\"}"

/* They become a path, and words of a shell's. */
static void a_network_by_its_name(void **state)
{
	static const char *const wrong[] = {
		"[]",
		"{}",
		NETWORK("ab12", "agents", "bridge"),
		NETWORK("../ab", "agents", "sandgate"),
		NETWORK("", "agents", "sandgate"),
		NETWORK("ab12", "--privileged", "sandgate"),
		NETWORK("ab12", "a b", "sandgate"),
		NETWORK("ab12", "a$(id)", "sandgate"),
		NETWORK("ab12", "a*", "sandgate"),
		NETWORK("ab12", "", "sandgate"),
		NETWORK("ab12", "a\\nb", "sandgate"),
	};
	char id[DOCKER_ID_SIZE], name[DOCKER_NAME_SIZE];

	assert_int_equal(read_network(NETWORK("ab12", "my_net-1.x", "sandgate"), id, name), 0);
	assert_string_equal(id, "ab12");
	assert_string_equal(name, "my_net-1.x");
	for (size_t i = 0; i < sg_array_len(wrong); i++)
		assert_int_equal(read_network(wrong[i], id, name), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers),
		cmocka_unit_test(own_servers),
		cmocka_unit_test(config_file),
		cmocka_unit_test(whose_it_is),
		cmocka_unit_test(what_is_not_understood),
		cmocka_unit_test(a_network_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
