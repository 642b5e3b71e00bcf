/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/files/resolver_files.h"

static struct resolver_config resolv(const char *text)
{
	struct resolver_config c = {0};

	resolver_files_read_resolv(span_of_string(text), &c);
	return c;
}

static void assert_server(const struct resolver_config *c, size_t i, const char *text)
{
	char out[ENDPOINT_TEXT_MAX];

	assert_true(i < c->n_servers);
	assert_string_equal(endpoint_format(&c->servers[i], out), text);
}

static void servers_keep_their_order(void **state)
{
	struct resolver_config c = resolv("# comment\n; another\nsearch corp.example\n"
					  "nameserver 192.0.2.1\n\tnameserver\t2001:db8::1 # here\n"
					  "nameserver 127.0.0.53");

	assert_int_equal(c.n_servers, 3);
	assert_server(&c, 0, "192.0.2.1:53");
	assert_server(&c, 1, "[2001:db8::1]:53");
	assert_server(&c, 2, "127.0.0.53:53");
}

static void what_is_not_understood_is_passed_over(void **state)
{
	struct resolver_config c =
		resolv("nameserver fe80::1%eth0\nnameserver dns.example\nnameserver\n"
		       "nameservers 192.0.2.9\nnameserver 192.0.2.1\r\n\n");

	assert_int_equal(c.n_servers, 1);
	assert_server(&c, 0, "192.0.2.1:53");
}

static void without_a_server_it_is_the_loopback(void **state)
{
	struct resolver_config c = resolv("");

	assert_int_equal(c.n_servers, 1);
	assert_server(&c, 0, "127.0.0.1:53");
}

static void the_table_of_servers_does_not_overflow(void **state)
{
	char text[4096] = "";
	struct resolver_config c;

	for (int i = 0; i < 20; i++)
		strcat(text, "nameserver 192.0.2.1\n");
	c = resolv(text);
	assert_int_equal(c.n_servers, RESOLVER_SERVERS_MAX);
}

static void options_are_held_to_their_caps(void **state)
{
	struct resolver_config c = resolv("options edns0 timeout:3 attempts:4\n");

	assert_int_equal(c.timeout_ms, 3000);
	assert_int_equal(c.tries, 4);
	c = resolv("options timeout:99999999999999999999 attempts:0 timeout:x rotate\n");
	assert_int_equal(c.timeout_ms, 30000);
	assert_int_equal(c.tries, 1);
	c = resolv("options timeout: attempts\n");
	assert_int_equal(c.timeout_ms, 2000);
	assert_int_equal(c.tries, 2);
}

static void hosts_are_pairs_of_name_and_address(void **state)
{
	struct resolver_config c = {0};
	static const char text[] = "127.0.0.1 localhost\n"
				   "10.0.0.5\tdb.corp.example  DB # the database\n"
				   "# 10.0.0.6 no.example\n"
				   "::1 ip6-localhost\nfe80::1%lo no.example\nx y\n10.0.0.7\n"
				   "10.0.0.8 bad..name ok.example";

	assert_int_equal(resolver_files_read_hosts(span_of_string(text), &c), 0);
	assert_int_equal(c.n_hosts, 5);
	assert_string_equal(c.hosts[1].name.s, "db.corp.example");
	assert_string_equal(c.hosts[2].name.s, "db");
	assert_true(addr_equal(&c.hosts[1].addr, &c.hosts[2].addr));
	assert_string_equal(c.hosts[4].name.s, "ok.example");
	free(c.hosts);
}

static void the_table_of_hosts_does_not_overflow(void **state)
{
	struct resolver_config c = {0};
	static char text[HOST_NAMES_MAX * 40];
	size_t n = 0;

	for (int i = 0; i < HOST_NAMES_MAX + 100; i++) {
		memcpy(text + n, "10.0.0.1 a.example b.example\n", 29);
		n += 29;
	}
	assert_int_equal(resolver_files_read_hosts(span_of(text, n), &c), 0);
	assert_int_equal(c.n_hosts, HOST_NAMES_MAX);
	free(c.hosts);
}

static void a_change_is_seen(void **state)
{
	struct resolver_config a = resolv("nameserver 192.0.2.1\n"), b = a;

	assert_true(resolver_config_equal(&a, &b));
	b = resolv("nameserver 192.0.2.2\n");
	assert_false(resolver_config_equal(&a, &b));
	b = resolv("nameserver 192.0.2.1\noptions timeout:9\n");
	assert_false(resolver_config_equal(&a, &b));
	b = a;
	assert_int_equal(resolver_files_read_hosts(span_of_string("10.0.0.1 a\n"), &b), 0);
	assert_false(resolver_config_equal(&a, &b));
	assert_int_equal(resolver_files_read_hosts(span_of_string("10.0.0.1 a\n"), &a), 0);
	assert_true(resolver_config_equal(&a, &b));
	free(a.hosts);
	free(b.hosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_keep_their_order),
		cmocka_unit_test(what_is_not_understood_is_passed_over),
		cmocka_unit_test(without_a_server_it_is_the_loopback),
		cmocka_unit_test(the_table_of_servers_does_not_overflow),
		cmocka_unit_test(options_are_held_to_their_caps),
		cmocka_unit_test(hosts_are_pairs_of_name_and_address),
		cmocka_unit_test(the_table_of_hosts_does_not_overflow),
		cmocka_unit_test(a_change_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
