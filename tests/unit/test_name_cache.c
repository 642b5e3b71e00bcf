/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "broker/name_cache.h"

enum { ROOM = 8 };

static int values[100];
static int released[100];

static void release(void *kept)
{
	released[(int *)kept - values]++;
}

static struct name name_of(int i)
{
	struct name name;
	char text[32];
	int n = snprintf(text, sizeof(text), "h%d.example", i);

	assert_int_equal(name_parse_ascii(text, (size_t)n, &name), NAME_OK);
	return name;
}

static void put(struct name_cache *c, int i)
{
	struct name name = name_of(i);

	name_cache_put(c, &name, &values[i]);
}

static void *find(struct name_cache *c, int i)
{
	struct name name = name_of(i);

	return name_cache_find(c, &name);
}

static void the_longest_unused_makes_room(void **state)
{
	struct name_cache *c = name_cache_new(ROOM, release);

	memset(released, 0, sizeof(released));
	for (int i = 0; i < ROOM; i++)
		put(c, i);
	assert_ptr_equal(find(c, 0), &values[0]);
	put(c, ROOM);
	assert_null(find(c, 1));
	assert_int_equal(released[1], 1);
	assert_ptr_equal(find(c, 0), &values[0]);
	for (int i = 10; i < 100; i++)
		put(c, i);
	for (int i = 0; i < 100; i++)
		assert_int_equal(find(c, i) != NULL, i >= 100 - ROOM);
	name_cache_free(c);
	for (int i = 0; i < 100; i++)
		assert_int_equal(released[i], i <= ROOM || i >= 10);
}

static void what_is_put_again_replaces(void **state)
{
	struct name_cache *c = name_cache_new(1, release);
	struct name name = name_of(7);

	memset(released, 0, sizeof(released));
	name_cache_put(c, &name, &values[1]);
	name_cache_put(c, &name, &values[2]);
	assert_int_equal(released[1], 1);
	assert_ptr_equal(name_cache_find(c, &name), &values[2]);
	put(c, 3);
	assert_int_equal(released[2], 1);
	assert_null(name_cache_find(c, &name));
	name_cache_free(c);
	assert_int_equal(released[3], 1);
}

/* Against a list that is kept in the order of use. */
static void it_agrees_with_a_list(void **state)
{
	struct name_cache *c = name_cache_new(ROOM, release);
	int order[ROOM + 1], n = 0;
	unsigned seed = 1;

	for (int step = 0; step < 20000; step++) {
		int i = (int)((seed = seed * 1103515245 + 12345) >> 16) % 20, at = 0;

		while (at < n && order[at] != i)
			at++;
		if (seed & 0x8000)
			put(c, i);
		else
			assert_ptr_equal(find(c, i), at < n ? &values[i] : NULL);
		if (at == n && !(seed & 0x8000))
			continue;
		n += at == n;
		memmove(order + 1, order, (size_t)at * sizeof(int));
		order[0] = i;
		if (n > ROOM)
			n = ROOM;
	}
	name_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_unused_makes_room),
		cmocka_unit_test(what_is_put_again_replaces),
		cmocka_unit_test(it_agrees_with_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
