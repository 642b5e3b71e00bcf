/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a capture: which is written, which comes next, and in which order they end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/log/capture_segments.h"

struct rig {
	struct capture_segments l;
	int done[CAPTURE_CLOSING_MAX]; /* a hash is done when this end is closed */
	size_t n_closing;
};

static int set_up(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->l = CAPTURE_SEGMENTS_NONE;
	strcpy(r->l.place.path, "/tmp/capture_segments.XXXXXX");
	strcpy(r->l.place.stem, "c");
	strcpy(r->l.place.suffix, ".pcapng");
	assert_non_null(mkdtemp(r->l.place.path));
	r->l.place.folder = open(r->l.place.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(r->l.place.folder >= 0);
	*state = r;
	return 0;
}

static void close_hash(struct capture_segment *g)
{
	if (g->hash.pipe >= 0)
		close(g->hash.pipe);
}

static int tear_down(void **state)
{
	struct rig *r = *state;
	char name[32];

	for (size_t i = 0; i < r->n_closing; i++)
		if (r->done[i] >= 0)
			close(r->done[i]);
	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++) {
		close_hash(&r->l.closing[i]);
		capture_segment_close(&r->l.closing[i]);
	}
	capture_segment_close(&r->l.now);
	capture_segment_close(&r->l.next);
	for (unsigned i = 1; i < 9; i++) {
		snprintf(name, sizeof(name), i > 1 ? "c-%u.pcapng" : "c.pcapng", i);
		unlinkat(r->l.place.folder, name, 0);
	}
	assert_int_equal(rmdir(r->l.place.path), 0);
	pcap_place_close(&r->l.place);
	free(r);
	return 0;
}

static void make(struct rig *r, struct capture_segment *g)
{
	struct err e;

	assert_int_equal(capture_segments_make(&r->l, g, &e), 0);
}

/* As fast as it goes, so many of them within one millisecond. */
static void where_one_is_there_each_has_a_name_of_its_own(void **state)
{
	enum { MANY = 50 };
	struct rig *r = *state;
	struct capture_segment made[MANY];
	struct err e;

	r->l.place.stem_n = strlen(r->l.place.stem);
	for (int i = 0; i < MANY; i++) {
		made[i] = CAPTURE_SEGMENT_NONE;
		pcap_place_take_another(&r->l.place);
		r->l.made = 0;
		if (capture_segments_make(&r->l, &made[i], &e))
			fail_msg("%d: %s", i, e.text);
		/* c.pcapng, then c-20261130T115536.123Z.pcapng */
		assert_int_equal(strlen(r->l.place.stem), i ? 1 + 21 : 1);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(unlink(made[i].path), 0);
		capture_segment_close(&made[i]);
	}
}

static bool is_there(const struct rig *r, const char *name)
{
	return faccessat(r->l.place.folder, name, F_OK, 0) == 0;
}

/* It is over, and its hash is under way. */
static struct capture_segment *turn(struct rig *r, bool last)
{
	struct capture_segment *g = capture_segments_turn(&r->l, last);
	int pair[2];

	assert_non_null(g);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	g->hash.pipe = pair[0];
	r->done[r->n_closing++] = pair[1];
	return g;
}

static void finish_hash(struct rig *r, size_t i)
{
	close(r->done[i]);
	r->done[i] = -1;
}

static void the_next_is_written_after_the_one_that_is_full(void **state)
{
	struct rig *r = *state;

	make(r, &r->l.now);
	make(r, &r->l.next);
	assert_int_equal(turn(r, false)->number, 1);
	assert_int_equal(r->l.now.number, 2);
	assert_int_equal(r->l.next.fd, -1);
	assert_int_equal(r->l.made, 2);
	assert_true(is_there(r, "c.pcapng") && is_there(r, "c-2.pcapng"));
}

static void after_the_last_none_is_written(void **state)
{
	struct rig *r = *state;

	make(r, &r->l.now);
	make(r, &r->l.next);
	turn(r, true);
	assert_int_equal(r->l.now.fd, -1);
	assert_int_equal(r->l.next.number, 2);
	assert_false(capture_segments_are_over(&r->l));
}

static void one_without_room_goes_on_being_the_one_that_is_written(void **state)
{
	struct rig *r = *state;

	make(r, &r->l.now);
	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++) {
		make(r, &r->l.next);
		assert_int_equal(capture_segments_room(&r->l), CAPTURE_CLOSING_MAX - i);
		turn(r, false);
	}
	assert_int_equal(capture_segments_room(&r->l), 0);
	assert_null(capture_segments_turn(&r->l, true));
	assert_int_equal(r->l.now.number, CAPTURE_CLOSING_MAX + 1);
}

static void none_ends_where_none_is_written(void **state)
{
	struct rig *r = *state;

	assert_null(capture_segments_turn(&r->l, true));
	assert_null(capture_segments_first_hashed(&r->l));
	assert_true(capture_segments_are_over(&r->l));
}

static void one_that_is_hashed_waits_for_those_before_it(void **state)
{
	struct rig *r = *state;
	struct capture_segment *g;

	make(r, &r->l.now);
	make(r, &r->l.next);
	turn(r, false);
	turn(r, true);
	finish_hash(r, 1);
	assert_null(capture_segments_first_hashed(&r->l));
	finish_hash(r, 0);
	for (unsigned number = 1; number <= 2; number++) {
		g = capture_segments_first_hashed(&r->l);
		assert_non_null(g);
		assert_int_equal(g->number, number);
		close_hash(g);
		capture_segment_close(g);
	}
	assert_true(capture_segments_are_over(&r->l));
}

static void one_that_is_taken_back_was_never_made(void **state)
{
	struct rig *r = *state;

	make(r, &r->l.now);
	make(r, &r->l.next);
	capture_segments_take_back_next(&r->l);
	assert_false(is_there(r, "c-2.pcapng"));
	assert_int_equal(r->l.made, 1);
	capture_segments_take_back_next(&r->l);
	assert_int_equal(r->l.made, 1);
	make(r, &r->l.next);
	assert_int_equal(r->l.next.number, 2);
}

static void nothing_is_overwritten(void **state)
{
	struct rig *r = *state;
	int fd = openat(r->l.place.folder, "c.pcapng", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct err e;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(capture_segments_make(&r->l, &r->l.now, &e), -1);
	assert_non_null(strstr(e.text, "it is there already"));
	assert_int_equal(r->l.made, 0);
	capture_segments_drop(&r->l, &r->l.now);
	assert_true(is_there(r, "c.pcapng"));
}

static void who_is_to_write_one_cannot_read_it(void **state)
{
	struct rig *r = *state;
	struct err e;
	char octet;
	int fd;

	make(r, &r->l.now);
	fd = capture_segment_open_for_writing(&r->l.now, &e);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(pread(fd, &octet, 1, 0), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(pread(r->l.now.fd, &octet, 1, 0), 1);
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_next_is_written_after_the_one_that_is_full),
		TEST(after_the_last_none_is_written),
		TEST(one_without_room_goes_on_being_the_one_that_is_written),
		TEST(none_ends_where_none_is_written),
		TEST(one_that_is_hashed_waits_for_those_before_it),
		TEST(one_that_is_taken_back_was_never_made),
		TEST(nothing_is_overwritten),
		TEST(where_one_is_there_each_has_a_name_of_its_own),
		TEST(who_is_to_write_one_cannot_read_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
