/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/seen_log.h"

static struct seen seen(const char *name, const char *address, uint16_t port, enum reason reason)
{
	struct seen s = {.proto = PROTO_TCP, .port = port, .reason = reason, .count = 1};

	if (name) {
		assert_int_equal(name_parse_ascii(name, strlen(name), &s.name), NAME_OK);
		s.has_name = true;
	}
	if (address) {
		assert_true(addr_parse(address, strlen(address), &s.addr));
		s.has_addr = true;
	}
	return s;
}

static void add(struct seen_list *l, struct seen s)
{
	assert_int_equal(seen_list_add(l, &s), 0);
}

/* A name is one thing whatever addresses it had, but for an address that was the reason. */
static void what_repeats_is_counted(void **state)
{
	struct seen_list l = {.v = NULL};
	struct seen probe;

	add(&l, seen("a.example.com", "93.184.1.1", 443, REASON_NONE));
	add(&l, seen("a.example.com", "93.184.1.2", 443, REASON_NONE));
	add(&l, seen("a.example.com", "93.184.1.2", 443, REASON_NOT_IN_POLICY));
	add(&l, seen("a.example.com", "93.184.1.2", 22, REASON_NONE));
	add(&l, seen("a.example.com", "10.0.0.1", 443, REASON_SPECIAL_ADDRESS));
	add(&l, seen("a.example.com", "10.0.0.2", 443, REASON_SPECIAL_ADDRESS));
	add(&l, seen(NULL, "93.184.1.1", 443, REASON_NONE));
	seen_list_compact(&l);
	assert_int_equal(l.n, 6);
	probe = seen("a.example.com", "93.184.9.9", 443, REASON_NONE);
	assert_true(seen_list_has(&l, &probe));
	probe = seen("a.example.com", "10.0.0.3", 443, REASON_SPECIAL_ADDRESS);
	assert_false(seen_list_has(&l, &probe));
	probe = seen("b.example.com", NULL, 443, REASON_NONE);
	assert_false(seen_list_has(&l, &probe));
	/* one request is not another */
	probe = seen("a.example.com", NULL, 443, REASON_NONE);
	strcpy(probe.permission, "github");
	assert_false(seen_list_has(&l, &probe));
	seen_list_free(&l);
}

/* A log of millions of lines about few things takes little room. */
static void what_repeats_takes_no_room(void **state)
{
	struct seen_list l = {.v = NULL};
	uint64_t total = 0;
	char name[32];

	for (int i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "h%d.example.com", i % 100);
		add(&l, seen(name, "93.184.1.1", 443, REASON_NONE));
	}
	assert_true(l.cap <= 16384);
	seen_list_compact(&l);
	assert_int_equal(l.n, 100);
	for (size_t i = 0; i < l.n; i++)
		total += l.v[i].count;
	assert_int_equal(total, 200000);
	seen_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_repeats_is_counted),
		cmocka_unit_test(what_repeats_takes_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
