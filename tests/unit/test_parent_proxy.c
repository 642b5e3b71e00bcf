/* SPDX-License-Identifier: Apache-2.0 */
/* broker.md 6: which proxy the host has to use, and what goes without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/parent_proxy.h"

static void test_urls(void **state)
{
	static const struct {
		const char *text, *user, *host;
		uint16_t port;
		bool is_address;
	} good[] = {
		{"http://proxy.corp.example:3128", "", "proxy.corp.example", 3128, false},
		{"http://proxy.corp.example", "", "proxy.corp.example", 80, false},
		{"http://me@PROXY.corp.example:8080/", "me", "proxy.corp.example", 8080, false},
		{"http://me@corp@192.0.2.1:3128", "me@corp", "192.0.2.1", 3128, true},
		{"http://[2001:db8::1]:3128", "", "2001:db8::1", 3128, true},
	};

	for (size_t i = 0; i < sg_array_len(good); i++) {
		struct parent_url u;
		struct err e;

		if (parent_url_parse(good[i].text, &u, &e))
			fail_msg("%s: %s", good[i].text, e.text);
		assert_string_equal(u.user, good[i].user);
		assert_string_equal(u.host, good[i].host);
		assert_int_equal(u.at.port, good[i].port);
		assert_int_equal(u.is_address, good[i].is_address);
	}
}

static void test_urls_that_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"proxy:3128", "scheme"},
		{"https://proxy:3128", "scheme"},
		{"socks5://proxy:1080", "scheme"},
		{"http://", "no host"},
		{"http:///", "no host"},
		{"http://@proxy:1", "user is empty"},
		{"http://me:secret@proxy:3128", "password"},
		{"http://m e@proxy:3128", "visible ASCII"},
		{"http://proxy:0", "port"},
		{"http://proxy:", "port"},
		{"http://proxy:65536", "port"},
		{"http://proxy:31 28", "port"},
		{"http://proxy:3128/path", "port"},
		{"http://proxy/path", "something else"},
		{"http://pro_xy..corp", "label"},
		{"http://127.1:3128", "number"},
		{"http://[192.0.2.1]:3128", "IPv6"},
		{"http://[proxy]:3128", "IPv6"},
		{"http://[2001:db8::1]3128", "something else"},
	};

	for (size_t i = 0; i < sg_array_len(bad); i++) {
		struct parent_url u;
		struct err e;

		if (parent_url_parse(bad[i].text, &u, &e) == 0)
			fail_msg("%s is taken", bad[i].text);
		if (!strstr(e.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, e.text);
		assert_null(strstr(e.text, "secret"));
	}
}

static struct parent_proxy proxy_with(const char *const *exceptions)
{
	struct parent_proxy p = {.n = 1};
	struct err e;

	for (; *exceptions; exceptions++)
		if (parent_exception_parse(*exceptions, &p.exception[p.n_exceptions++], &e))
			fail_msg("%s", e.text);
	return p;
}

static bool carries(const struct parent_proxy *p, const char *name, const char *address)
{
	struct name n;
	struct addr a;

	assert_true(addr_parse(address, strlen(address), &a));
	if (name)
		assert_int_equal(name_parse_ascii(name, strlen(name), &n), NAME_OK);
	return parent_proxy_carries(p, name ? &n : NULL, &a);
}

static void test_exceptions(void **state)
{
	static const char *const list[] = {"git.corp.example", "*.intern.example", ".lab.example",
					   "10.0.0.0/8",       "2001:db8::1",	   NULL};
	struct parent_proxy p = proxy_with(list);
	const struct parent_proxy none = {0};

	assert_true(carries(&p, "example.com", "93.184.0.1"));
	assert_true(carries(&p, NULL, "93.184.0.1"));
	assert_false(carries(&p, "git.corp.example", "93.184.0.1"));
	assert_true(carries(&p, "x.git.corp.example", "93.184.0.1"));
	assert_false(carries(&p, "a.b.intern.example", "93.184.0.1"));
	assert_true(carries(&p, "intern.example", "93.184.0.1"));
	assert_true(carries(&p, "xintern.example", "93.184.0.1"));
	assert_false(carries(&p, "x.lab.example", "93.184.0.1"));
	assert_false(carries(&p, "example.com", "10.1.2.3"));
	assert_false(carries(&p, NULL, "2001:db8::1"));
	assert_true(carries(&p, NULL, "2001:db8::2"));
	assert_false(carries(&p, "host.sandgate.internal", "127.0.0.1"));
	assert_false(carries(&p, NULL, "::1"));
	assert_false(carries(&none, "example.com", "93.184.0.1"));
}

static void test_exceptions_that_are_refused(void **state)
{
	static const char *const bad[] = {"",		"*",	     ".",    "*.",	 "a b",
					  "10.0.0.1/8", "010.0.0.1", "x..y", "http://x", "host:80"};

	for (size_t i = 0; i < sg_array_len(bad); i++) {
		struct parent_exception x;
		struct err e;

		if (parent_exception_parse(bad[i], &x, &e) == 0)
			fail_msg("%s is taken", bad[i]);
		assert_non_null(strstr(e.text, "write a host"));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_urls_that_are_refused),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_exceptions_that_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
