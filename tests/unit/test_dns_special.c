/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "gate/dns_special.h"

static struct name name_of(const char *s)
{
	struct name n;

	assert_int_equal(name_parse_ascii(s, strlen(s), &n), NAME_OK);
	return n;
}

static void special_names_and_those_below(void **state)
{
	static const struct {
		const char *name;
		enum dns_special want;
	} cases[] = {
		{"localhost", DNS_SPECIAL_LOOPBACK},
		{"a.localhost", DNS_SPECIAL_LOOPBACK},
		{"notlocalhost", DNS_SPECIAL_NONE},
		{"localhost.example", DNS_SPECIAL_NONE},
		{"invalid", DNS_SPECIAL_NXDOMAIN},
		{"a.test", DNS_SPECIAL_NXDOMAIN},
		{"a.b.onion", DNS_SPECIAL_NXDOMAIN},
		{"printer.local", DNS_SPECIAL_NXDOMAIN},
		{"a.alt", DNS_SPECIAL_NXDOMAIN},
		{"_dns.resolver.arpa", DNS_SPECIAL_NODATA},
		{"ipv4only.arpa", DNS_SPECIAL_IPV4ONLY},
		{"use-application-dns.net", DNS_SPECIAL_NXDOMAIN},
		{"mask.icloud.com", DNS_SPECIAL_NXDOMAIN},
		{"mask-h2.icloud.com", DNS_SPECIAL_NXDOMAIN},
		{"www.icloud.com", DNS_SPECIAL_NONE},
		{"host.sandgate.internal", DNS_SPECIAL_GATE},
		{"gateway.sandgate.internal", DNS_SPECIAL_GATE},
		{"other.sandgate.internal", DNS_SPECIAL_NXDOMAIN},
		{"internal", DNS_SPECIAL_NONE},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		struct name n = name_of(cases[i].name);

		if (dns_special_find(&n) != cases[i].want)
			fail_msg("%s", cases[i].name);
	}
}

static void reverse_names_are_read_strictly(void **state)
{
	static const struct {
		const char *name;
		enum dns_reverse want;
		const char *addr;
	} cases[] = {
		{"1.0.184.93.in-addr.arpa", REVERSE_ADDR, "93.184.0.1"},
		{"255.255.255.255.in-addr.arpa", REVERSE_ADDR, "255.255.255.255"},
		{"01.0.184.93.in-addr.arpa", REVERSE_OTHER, NULL},
		{"256.0.184.93.in-addr.arpa", REVERSE_OTHER, NULL},
		{"0.184.93.in-addr.arpa", REVERSE_OTHER, NULL},
		{"1.1.0.184.93.in-addr.arpa", REVERSE_OTHER, NULL},
		{"in-addr.arpa", REVERSE_OTHER, NULL},
		{"xin-addr.arpa", REVERSE_NOT, NULL},
		{"a.example", REVERSE_NOT, NULL},
		{"b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
		 REVERSE_ADDR, "2001:db8::567:89ab"},
		{"b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.ip6.arpa",
		 REVERSE_OTHER, NULL},
		{"b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.g.ip6.arpa",
		 REVERSE_OTHER, NULL},
		{"1.0.0.0.8.b.d.5.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
		 REVERSE_OTHER, NULL},
		{"ip6.arpa", REVERSE_OTHER, NULL},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		struct name n = name_of(cases[i].name);
		char text[ADDR_TEXT_MAX];
		struct addr a;

		if (dns_reverse_parse(&n, &a) != cases[i].want)
			fail_msg("%s", cases[i].name);
		if (cases[i].addr)
			assert_string_equal(addr_format(&a, text), cases[i].addr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(special_names_and_those_below),
		cmocka_unit_test(reverse_names_are_read_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
