/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "gate/names.h"

static struct names *t;
static mono_t now;

static int setup(void **state)
{
	t = names_new();
	now = (mono_t){1000000000};
	return t ? 0 : -1;
}

static int teardown(void **state)
{
	names_free(t);
	return 0;
}

static void pass_seconds(int64_t s)
{
	now = mono_add_ms(now, s * 1000);
}

static struct name name_of(const char *s)
{
	struct name n;

	assert_int_equal(name_parse_ascii(s, strlen(s), &n), NAME_OK);
	return n;
}

static struct addr addr_of(const char *s)
{
	struct addr a;

	assert_true(addr_parse(s, strlen(s), &a));
	return a;
}

static void answered(const char *name, const char *addr, uint32_t ttl)
{
	struct name n = name_of(name);
	struct addr a = addr_of(addr);

	names_bind(t, &n, addr_is_v4(&a) ? NAMES_A : NAMES_AAAA, &a, 1, ttl, NAMES_SHOWN, now);
}

static struct names_answer answer(const char *name, enum names_type type)
{
	struct name n = name_of(name);
	struct names_answer a;

	names_answer(t, &n, type, now, &a);
	return a;
}

static bool is_bound(const char *name, const char *addr)
{
	struct name n = name_of(name);
	struct addr a = addr_of(addr);

	return names_is_bound(t, &n, &a, now);
}

static void an_answer_lasts_its_clamped_ttl(void **state)
{
	static const struct {
		uint32_t ttl, kept;
	} cases[] = {{0, 5}, {5, 5}, {30, 30}, {60, 60}, {86400, 60}};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		answered("a.example", "93.184.0.1", cases[i].ttl);
		assert_int_equal(answer("a.example", NAMES_A).ttl, cases[i].kept);
		pass_seconds(cases[i].kept - 1);
		assert_int_equal(answer("a.example", NAMES_A).state, NAMES_ADDRESSES);
		assert_int_equal(answer("a.example", NAMES_A).ttl, 1);
		pass_seconds(1);
		assert_int_equal(answer("a.example", NAMES_A).state, NAMES_UNKNOWN);
	}
}

static void an_answer_keeps_its_order_and_both_families(void **state)
{
	struct addr addrs[] = {addr_of("93.184.0.3"), addr_of("93.184.0.1"), addr_of("93.184.0.2")};
	struct name n = name_of("a.example");
	struct names_answer a;

	names_bind(t, &n, NAMES_A, addrs, 3, 30, NAMES_SHOWN, now);
	answered("a.example", "2a00::1", 60);
	a = answer("a.example", NAMES_A);
	assert_int_equal(a.n, 3);
	assert_memory_equal(a.addrs, addrs, sizeof(addrs));
	a = answer("a.example", NAMES_AAAA);
	assert_int_equal(a.n, 1);
	assert_false(addr_is_v4(&a.addrs[0]));
	assert_int_equal(answer("b.example", NAMES_A).state, NAMES_UNKNOWN);
}

static void an_address_twice_in_an_answer_is_one(void **state)
{
	struct addr addrs[] = {addr_of("93.184.0.1"), addr_of("93.184.0.2"), addr_of("93.184.0.1")};
	struct name n = name_of("a.example");

	names_bind(t, &n, NAMES_A, addrs, 3, 30, NAMES_SHOWN, now);
	assert_int_equal(answer("a.example", NAMES_A).n, 2);
	assert_int_equal(answer("a.example", NAMES_A).state, NAMES_ADDRESSES);
}

/* cilium#20650: addresses that rotate; each stays admitted for a day after its last answer. */
static void an_address_stays_bound_for_a_day(void **state)
{
	answered("a.example", "93.184.0.1", 5);
	pass_seconds(10);
	answered("a.example", "93.184.0.2", 5);
	assert_int_equal(answer("a.example", NAMES_A).n, 1);
	assert_true(is_bound("a.example", "93.184.0.1"));
	assert_true(is_bound("a.example", "93.184.0.2"));
	pass_seconds(24 * 3600 - 11);
	assert_true(is_bound("a.example", "93.184.0.1"));
	pass_seconds(1);
	assert_false(is_bound("a.example", "93.184.0.1"));
	assert_true(is_bound("a.example", "93.184.0.2"));
	answered("a.example", "93.184.0.2", 5);
	pass_seconds(24 * 3600 - 1);
	assert_true(is_bound("a.example", "93.184.0.2"));
}

/* cilium#31803: one address for several names. */
static void a_shared_address_has_all_its_names(void **state)
{
	struct addr a = addr_of("93.184.0.1");
	const struct name *out[4];
	struct name first;

	assert_int_equal(names_bound_to(t, &a, now, out, 4), 0);
	answered("a.example", "93.184.0.1", 5);
	answered("b.example", "93.184.0.1", 5);
	answered("c.example", "93.184.0.1", 5);
	pass_seconds(1);
	answered("a.example", "93.184.0.1", 5);
	assert_int_equal(names_bound_to(t, &a, now, out, 4), 3);
	first = name_of("a.example");
	assert_true(name_equal(out[0], &first));
	assert_int_equal(names_bound_to(t, &a, now, out, 2), 2);
	assert_true(is_bound("b.example", "93.184.0.1"));
	assert_false(is_bound("d.example", "93.184.0.1"));
	pass_seconds(24 * 3600 - 1);
	assert_int_equal(names_bound_to(t, &a, now, out, 4), 1);
}

static void absence_is_kept(void **state)
{
	struct name n = name_of("a.example");

	names_set_absent(t, &n, NAMES_AAAA, NAMES_NODATA, 20, now);
	names_set_absent(t, &n, NAMES_HTTPS, NAMES_NXDOMAIN, 0, now);
	assert_int_equal(answer("a.example", NAMES_AAAA).state, NAMES_NODATA);
	assert_int_equal(answer("a.example", NAMES_AAAA).ttl, 20);
	assert_int_equal(answer("a.example", NAMES_HTTPS).state, NAMES_NXDOMAIN);
	assert_int_equal(answer("a.example", NAMES_A).state, NAMES_UNKNOWN);
	answered("a.example", "2a00::1", 5);
	assert_int_equal(answer("a.example", NAMES_AAAA).state, NAMES_ADDRESSES);
	names_bind(t, &n, NAMES_AAAA, NULL, 0, 5, NAMES_SHOWN, now);
	assert_int_equal(answer("a.example", NAMES_AAAA).state, NAMES_NODATA);
	assert_true(is_bound("a.example", "2a00::1"));
}

static void real_addresses_come_newest_first(void **state)
{
	struct name n = name_of("a.example");
	struct addr out[4], newest = addr_of("93.184.0.2");

	answered("a.example", "93.184.0.1", 5);
	pass_seconds(10);
	answered("a.example", "2a00::1", 5);
	answered("a.example", "93.184.0.2", 5);
	assert_int_equal(names_real_addresses(t, &n, now, out, 4), 3);
	assert_true(addr_equal(&out[0], &newest));
	assert_int_equal(names_real_addresses(t, &n, now, out, 2), 2);
	n = name_of("b.example");
	assert_int_equal(names_real_addresses(t, &n, now, out, 4), 0);
}

static void a_name_has_a_bounded_number_of_addresses(void **state)
{
	char text[32];

	for (int i = 0; i < 2 * NAMES_BINDINGS_PER_NAME; i++) {
		snprintf(text, sizeof(text), "93.184.%d.%d", i / 200, i % 200 + 1);
		answered("a.example", text, 5);
	}
	assert_false(is_bound("a.example", "93.184.0.1"));
	assert_true(is_bound("a.example", text));
	assert_int_equal(answer("a.example", NAMES_A).n, 1);
}

/* What fell out of the binding list no longer stands in a kept answer. */
static void an_answer_that_lost_an_address_is_asked_again(void **state)
{
	struct addr addrs[NAMES_ANSWER_MAX];
	struct name n = name_of("a.example");

	answered("a.example", "2a00::1", 60);
	for (int round = 0; round < NAMES_BINDINGS_PER_NAME / NAMES_ANSWER_MAX; round++) {
		for (uint8_t i = 0; i < NAMES_ANSWER_MAX; i++)
			addrs[i] = addr_from_v4((const uint8_t[]){93, 184, (uint8_t)round, i});
		names_bind(t, &n, NAMES_A, addrs, NAMES_ANSWER_MAX, 60, NAMES_SHOWN, now);
	}
	assert_int_equal(answer("a.example", NAMES_AAAA).state, NAMES_UNKNOWN);
	assert_int_equal(answer("a.example", NAMES_A).n, NAMES_ANSWER_MAX);
}

/* No growth, whatever a sandbox asks for; the names in use stay. */
static void the_least_recently_used_name_makes_room(void **state)
{
	struct names_counts c;
	char name[32];

	answered("kept.example", "93.184.0.1", 60);
	answered("lost.example", "93.184.0.2", 60);
	for (int i = 0; i < NAMES_CAPACITY + 5; i++) {
		snprintf(name, sizeof(name), "n%d.example", i);
		answered(name, "93.184.0.3", 60);
		if (i % 1000 == 0)
			answer("kept.example", NAMES_A);
	}
	names_count(t, &c);
	assert_int_equal(c.names, NAMES_CAPACITY);
	assert_int_equal(c.bindings, NAMES_CAPACITY);
	assert_int_equal(c.evicted, 7);
	assert_true(is_bound("kept.example", "93.184.0.1"));
	assert_false(is_bound("lost.example", "93.184.0.2"));
	assert_true(is_bound(name, "93.184.0.3"));
}

static void bindings_are_bounded(void **state)
{
	struct addr addrs[NAMES_ANSWER_MAX];
	struct names_counts c;
	char text[32];

	for (uint32_t i = 0; i < NAMES_BINDINGS_CAPACITY / NAMES_ANSWER_MAX + 100; i++) {
		struct name n;

		snprintf(text, sizeof(text), "n%u.example", i);
		n = name_of(text);
		for (uint8_t k = 0; k < NAMES_ANSWER_MAX; k++)
			addrs[k] = addr_from_v4(
				(const uint8_t[]){93, (uint8_t)(i >> 8), (uint8_t)i, k});
		names_bind(t, &n, NAMES_A, addrs, NAMES_ANSWER_MAX, 60, NAMES_SHOWN, now);
	}
	names_count(t, &c);
	assert_int_equal(c.bindings, NAMES_BINDINGS_CAPACITY);
	assert_int_equal(c.names, NAMES_BINDINGS_CAPACITY / NAMES_ANSWER_MAX);
	assert_int_equal(answer(text, NAMES_A).n, NAMES_ANSWER_MAX);
	assert_int_equal(answer("n0.example", NAMES_A).state, NAMES_UNKNOWN);
}

static void a_synthetic_address_is_one_name(void **state)
{
	struct name a = name_of("a.example"), b = name_of("b.example");
	struct addr a4 = names_synthetic(t, &a, true, now), a6 = names_synthetic(t, &a, false, now);
	struct addr b4 = names_synthetic(t, &b, true, now), again, none;
	const struct name *out[2];
	char text[ADDR_TEXT_MAX];

	assert_string_equal(addr_format(&a4, text), "198.18.0.1");
	assert_string_equal(addr_format(&a6, text), "fd73:616e:6467:5::1");
	assert_string_equal(addr_format(&b4, text), "198.18.0.2");
	again = names_synthetic(t, &a, true, now);
	assert_true(addr_equal(&a4, &again));
	assert_true(name_equal(names_synthetic_name(t, &a4), &a));
	assert_true(name_equal(names_synthetic_name(t, &a6), &a));
	assert_int_equal(names_bound_to(t, &b4, now, out, 2), 1);
	assert_true(name_equal(out[0], &b));
	assert_true(names_is_bound(t, &b, &b4, now));
	assert_false(names_is_bound(t, &a, &b4, now));
	none = addr_of("198.18.0.3");
	assert_true(names_addr_is_synthetic(&none));
	assert_null(names_synthetic_name(t, &none));
}

static void the_synthetic_ranges_end_where_they_end(void **state)
{
	static const struct {
		const char *addr;
		bool in;
	} cases[] = {
		{"198.18.0.0", false},
		{"198.18.0.1", true},
		{"198.19.255.254", true},
		{"198.19.255.255", false},
		{"198.17.255.255", false},
		{"198.20.0.1", false},
		{"fd73:616e:6467:5::1", true},
		{"fd73:616e:6467:5::", false},
		{"fd73:616e:6467:5::1:fffe", true},
		{"fd73:616e:6467:5::2:0", false},
		{"fd73:616e:6467:5:0:0:1:1", true},
		{"fd73:616e:6467:5:0:1:0:1", false},
		{"fd73:616e:6467:1::1", false},
	};

	for (size_t i = 0; i < sg_array_len(cases); i++) {
		struct addr a = addr_of(cases[i].addr);

		if (names_addr_is_synthetic(&a) != cases[i].in)
			fail_msg("%s", cases[i].addr);
	}
}

/* The address of a name that is gone leads nowhere, and is not soon another's. */
static void synthetic_addresses_are_not_reused_at_once(void **state)
{
	struct name n = name_of("first.example");
	struct addr first = names_synthetic(t, &n, true, now), a;
	char text[32];

	for (int i = 0; i < NAMES_CAPACITY * 2; i++) {
		snprintf(text, sizeof(text), "n%d.example", i);
		n = name_of(text);
		a = names_synthetic(t, &n, true, now);
		assert_false(addr_equal(&a, &first));
	}
	assert_null(names_synthetic_name(t, &first));
}

/* What the sandbox has not seen it may not connect to; once shown, it keeps its own day. */
static void addresses_for_the_dial_are_not_bound(void **state)
{
	struct name n = name_of("a.example");
	struct addr a = addr_of("93.184.0.1"), out[4];
	const struct name *bound[4];

	names_bind(t, &n, NAMES_A, &a, 1, 60, NAMES_FOR_DIAL, now);
	assert_false(answer("a.example", NAMES_A).shown);
	assert_false(is_bound("a.example", "93.184.0.1"));
	assert_int_equal(names_bound_to(t, &a, now, bound, 4), 0);
	assert_int_equal(names_real_addresses(t, &n, now, out, 4), 1);
	names_bind(t, &n, NAMES_A, &a, 1, 60, NAMES_SHOWN, now);
	assert_true(answer("a.example", NAMES_A).shown);
	pass_seconds(3600);
	names_bind(t, &n, NAMES_A, &a, 1, 60, NAMES_FOR_DIAL, now);
	assert_true(is_bound("a.example", "93.184.0.1"));
	assert_int_equal(names_bound_to(t, &a, now, bound, 4), 1);
	pass_seconds(23 * 3600);
	assert_false(is_bound("a.example", "93.184.0.1"));
	assert_int_equal(names_bound_to(t, &a, now, bound, 4), 0);
	assert_int_equal(names_real_addresses(t, &n, now, out, 4), 1);
}

static void all_synthetic_numbers_can_go_round(void **state)
{
	struct name n;
	char text[32];

	for (int i = 0; i < 140000; i++) {
		struct addr a;

		snprintf(text, sizeof(text), "n%d.example", i);
		n = name_of(text);
		a = names_synthetic(t, &n, true, now);
		assert_true(names_addr_is_synthetic(&a));
		assert_true(name_equal(names_synthetic_name(t, &a), &n));
	}
}

static void an_alias_is_reached_at_its_target(void **state)
{
	struct name owner = name_of("shop.example"), target = name_of("edge.example");
	struct addr a;

	answered("edge.example", "93.184.0.1", 60);
	assert_false(is_bound("shop.example", "93.184.0.1"));
	names_set_alias(t, &owner, &target, now);
	assert_true(is_bound("shop.example", "93.184.0.1"));
	assert_false(is_bound("shop.example", "93.184.0.2"));
	a = names_synthetic(t, &target, true, now);
	assert_true(names_is_bound(t, &owner, &a, now));
	pass_seconds(24 * 3600);
	answered("edge.example", "93.184.0.1", 60);
	assert_false(is_bound("shop.example", "93.184.0.1"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_answer_lasts_its_clamped_ttl),
		T(an_answer_keeps_its_order_and_both_families),
		T(an_address_twice_in_an_answer_is_one),
		T(an_address_stays_bound_for_a_day),
		T(a_shared_address_has_all_its_names),
		T(absence_is_kept),
		T(real_addresses_come_newest_first),
		T(a_name_has_a_bounded_number_of_addresses),
		T(an_answer_that_lost_an_address_is_asked_again),
		T(the_least_recently_used_name_makes_room),
		T(bindings_are_bounded),
		T(a_synthetic_address_is_one_name),
		T(the_synthetic_ranges_end_where_they_end),
		T(synthetic_addresses_are_not_reused_at_once),
		T(addresses_for_the_dial_are_not_bound),
		T(all_synthetic_numbers_can_go_round),
		T(an_alias_is_reached_at_its_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
