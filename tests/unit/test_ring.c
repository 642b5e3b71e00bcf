/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: nothing lost, nothing made up, whoever dies and whatever is written into it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/record.h"

enum { SLOTS = 2048, PUTS = 400000, MANY = 5000, PAUSE = 10000, PATIENT_MS = 20000 };

struct world {
	int fd, wake;
	struct ring *ring;
};

static int begin(void **state)
{
	struct world *w = malloc(sizeof(*w));
	struct err e;

	w->fd = memfd_create("ring", MFD_CLOEXEC);
	w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	w->ring = ring_map(w->fd, &e);
	*state = w;
	return w->ring ? 0 : -1;
}

static int end(void **state)
{
	struct world *w = *state;

	ring_unmap(w->ring);
	close(w->fd);
	close(w->wake);
	free(w);
	return 0;
}

static struct record refusal(uint64_t n)
{
	return (struct record){
		.kind = RECORD_DENY,
		.reason = REASON_NOT_IN_POLICY,
		.bytes_out = n,
		.path = "/x",
	};
}

static struct ring *again(const struct world *w)
{
	struct err e;
	struct ring *r = ring_map(w->fd, &e);

	assert_non_null(r);
	return r;
}

static void what_is_put_is_taken_in_order(void **state)
{
	struct world *w = *state;
	struct record r;

	assert_false(ring_take(w->ring, &r));
	for (uint64_t i = 0; i < MANY; i++) {
		struct record what = refusal(i);

		ring_put(w->ring, -1, &what);
		assert_true(ring_take(w->ring, &r));
		assert_int_equal(r.bytes_out, i);
	}
	assert_false(ring_take(w->ring, &r));
	assert_int_equal(ring_taken(w->ring), MANY);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct world *w = *state;
	struct record_totals t;
	struct record r = {.kind = RECORD_END}, allow = {.kind = RECORD_ALLOW}, deny = refusal(0);
	size_t n = 0;

	for (size_t i = 0; i < SLOTS; i++)
		ring_put(w->ring, -1, i % 2 ? &r : &allow);
	for (size_t i = 0; i < 7; i++)
		ring_put(w->ring, -1, &deny);
	ring_put(w->ring, -1, &r);
	ring_read_totals(w->ring, &t);
	assert_int_equal(t.allowed, SLOTS / 2);
	assert_int_equal(t.ended, SLOTS / 2 + 1);
	assert_int_equal(t.refused[REASON_NOT_IN_POLICY], 7);
	assert_int_equal(t.missed, 8);
	assert_int_equal(t.missed_refused[REASON_NOT_IN_POLICY], 7);
	while (ring_take(w->ring, &r))
		n++;
	assert_int_equal(n, SLOTS);
	ring_put(w->ring, -1, &deny);
	assert_true(ring_take(w->ring, &r));
}

static void the_file_keeps_records_and_totals(void **state)
{
	struct world *w = *state;
	struct record r = refusal(41);
	struct record_totals t;
	struct ring *next;

	ring_put(w->ring, -1, &r);
	r.bytes_out = 42;
	ring_put(w->ring, -1, &r);
	assert_true(ring_take(w->ring, &r));
	next = again(w);
	assert_true(ring_take(next, &r));
	assert_int_equal(r.bytes_out, 42);
	ring_read_totals(next, &t);
	assert_int_equal(t.refused[REASON_NOT_IN_POLICY], 2);
	ring_unmap(next);
}

static void a_file_that_is_no_ring_is_refused(void **state)
{
	struct world *w = *state;
	struct err e;
	const char other[] = "something else";

	assert_int_equal(pwrite(w->fd, other, sizeof(other), 0), sizeof(other));
	assert_null(ring_map(w->fd, &e));
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(ftruncate(w->fd, 100), 0);
	assert_null(ring_map(w->fd, &e));
	assert_non_null(strstr(e.text, "a later version"));
	/* The mapping that the test holds ends with the file: it is made anew. */
	assert_int_equal(ftruncate(w->fd, 0), 0);
	ring_unmap(w->ring);
	w->ring = ring_map(w->fd, &e);
	assert_non_null(w->ring);
}

/* --- files of earlier versions --- */

enum { EARLIER_REASONS = 38, EARLIER_FILE = 4096 + SLOTS * 840 };

/* As it was laid out before there were credentials in it. */
struct earlier {
	char magic[8];
	uint32_t version, record_size, slots, reasons;
	uint8_t unused[40];
	uint64_t tail, asleep[7], head, turn;
	uint64_t refused[EARLIER_REASONS], allowed, ended, missed;
	uint64_t missed_refused[EARLIER_REASONS];
};

static void put_earlier(const struct world *w, uint32_t version)
{
	struct earlier head = {
		.magic = "sgring\r\n",
		.version = version,
		.record_size = 840,
		.slots = SLOTS,
		.reasons = EARLIER_REASONS,
		.tail = 3,
		.head = 9,
		.turn = 17,
		.allowed = 100,
		.ended = 90,
		.missed = 4,
	};

	assert_int_equal(offsetof(struct earlier, tail), 64);
	assert_int_equal(offsetof(struct earlier, head), 128);
	assert_int_equal(offsetof(struct earlier, refused), 144);
	for (unsigned i = 0; i < EARLIER_REASONS; i++) {
		head.refused[i] = 1000 + i;
		head.missed_refused[i] = i;
	}
	assert_int_equal(ftruncate(w->fd, 0), 0);
	assert_int_equal(ftruncate(w->fd, EARLIER_FILE), 0);
	assert_int_equal(pwrite(w->fd, &head, sizeof(head), 0), sizeof(head));
}

static off_t size_of(const struct world *w)
{
	return lseek(w->fd, 0, SEEK_END);
}

/* The totals go on, by reason; records of another layout are never taken for records. */
static void the_totals_of_an_earlier_version_go_on(void **state)
{
	struct world *w = *state;
	struct record_totals t;
	struct record r = refusal(5), taken;
	struct ring *next;

	ring_unmap(w->ring);
	put_earlier(w, 1);
	w->ring = again(w);
	assert_int_equal(size_of(w), ring_size());
	ring_read_totals(w->ring, &t);
	for (unsigned i = 0; i < REASONS; i++) {
		assert_int_equal(t.refused[i], i < EARLIER_REASONS ? 1000 + i : 0);
		assert_int_equal(t.missed_refused[i], i < EARLIER_REASONS ? i : 0);
	}
	assert_int_equal(t.allowed, 100);
	assert_int_equal(t.ended, 90);
	assert_int_equal(t.missed, 4);
	assert_int_equal(t.with_credential, 0);
	assert_false(ring_take(w->ring, &taken));
	ring_put(w->ring, -1, &r);
	/* Not moved on a second time. */
	next = again(w);
	assert_true(ring_take(next, &taken));
	assert_int_equal(taken.bytes_out, 5);
	ring_read_totals(next, &t);
	assert_int_equal(t.refused[REASON_NOT_IN_POLICY], 1000 + REASON_NOT_IN_POLICY + 1);
	ring_unmap(next);
}

static void a_later_version_is_not_guessed_at(void **state)
{
	struct world *w = *state;
	struct err e;

	ring_unmap(w->ring);
	put_earlier(w, 3);
	assert_null(ring_map(w->fd, &e));
	assert_int_equal(errno, EBADMSG);
	put_earlier(w, 0);
	assert_null(ring_map(w->fd, &e));
	assert_int_equal(ftruncate(w->fd, 0), 0);
	w->ring = again(w);
}

/* More reasons than a page has room for, or none: no length is taken from the file. */
static void a_page_without_sense_is_refused(void **state)
{
	static const uint32_t counts[] = {0, 246, 4096, UINT32_MAX};
	struct world *w = *state;
	struct err e;

	ring_unmap(w->ring);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		put_earlier(w, 1);
		assert_int_equal(pwrite(w->fd, &counts[i], 4, offsetof(struct earlier, reasons)),
				 4);
		assert_null(ring_map(w->fd, &e));
		assert_int_equal(errno, EBADMSG);
	}
	assert_int_equal(ftruncate(w->fd, 0), 0);
	w->ring = again(w);
}

/* Killed after the page was written: the rest of the longer file is cut by the next. */
static void what_was_cut_short_in_moving_on_is_finished(void **state)
{
	struct world *w = *state;
	struct record r = refusal(8), taken;
	struct ring *next;

	ring_put(w->ring, -1, &r);
	assert_int_equal(ftruncate(w->fd, (off_t)ring_size() + 100000), 0);
	next = again(w);
	assert_int_equal(size_of(w), ring_size());
	assert_true(ring_take(next, &taken));
	ring_unmap(next);
}

static void what_had_a_credential_is_counted(void **state)
{
	struct world *w = *state;
	struct record r = {.kind = RECORD_ALLOW}, with = r, deny = refusal(1);
	struct record_totals t;

	record_put_text(with.credential, sizeof(with.credential), span_of_string("x at y"));
	deny.credential[0] = 'x';
	ring_put(w->ring, -1, &r);
	ring_put(w->ring, -1, &with);
	ring_put(w->ring, -1, &with);
	ring_put(w->ring, -1, &deny);
	ring_read_totals(w->ring, &t);
	assert_int_equal(t.allowed, 3);
	assert_int_equal(t.with_credential, 2);
	assert_int_equal(t.refused[REASON_NOT_IN_POLICY], 1);
}

static void a_sleeper_is_woken_once(void **state)
{
	struct world *w = *state;
	struct record r = refusal(1);
	uint64_t wakes = 0;

	ring_put(w->ring, w->wake, &r);
	assert_int_equal(read(w->wake, &wakes, sizeof(wakes)), -1);
	assert_false(ring_may_sleep(w->ring));
	assert_true(ring_take(w->ring, &r));
	assert_true(ring_may_sleep(w->ring));
	for (size_t i = 0; i < 10; i++)
		ring_put(w->ring, w->wake, &r);
	assert_int_equal(read(w->wake, &wakes, sizeof(wakes)), sizeof(wakes));
	assert_int_equal(wakes, 1);
}

static void totals_are_raised_and_never_lowered(void **state)
{
	struct world *w = *state;
	const struct record_totals log = {
		.refused = {[REASON_NOT_IN_POLICY] = 1, [REASON_DNS_OFF] = 9},
		.allowed = 5,
		.with_credential = 2,
	};
	struct record r = refusal(1);
	struct record_totals t;

	ring_put(w->ring, -1, &r);
	ring_put(w->ring, -1, &r);
	ring_raise(w->ring, &log);
	ring_read_totals(w->ring, &t);
	assert_int_equal(t.refused[REASON_NOT_IN_POLICY], 2);
	assert_int_equal(t.refused[REASON_DNS_OFF], 9);
	assert_int_equal(t.allowed, 5);
	assert_int_equal(t.with_credential, 2);
}

/* --- two processes --- */

/* Where the writer waits for a word of the reader: after many, then after one, which wakes it. */
static bool is_pause(uint64_t n)
{
	return n < PUTS && n > 1 && n % PAUSE < 2;
}

/* `go`: where that word comes from, since no later put would wake the reader; -1: no pauses. */
static void put_many(struct world *w, int go)
{
	char word;

	for (uint64_t i = 0; i < PUTS; i++) {
		struct record r = refusal(i);

		ring_put(w->ring, w->wake, &r);
		if (go >= 0 && is_pause(i + 1) && read(go, &word, 1) != 1)
			_exit(1);
	}
}

struct seen {
	uint64_t taken, settled;
};

/* Takes one; totals that belong to a moment must be of what was taken by then, and missed. */
static bool take_one(struct world *w, struct seen *seen, uint64_t *last)
{
	struct record_totals t;
	struct record r;
	uint64_t put;
	bool settled = ring_read_settled(w->ring, &t, &put);

	if (settled && put == seen->taken) {
		assert_int_equal(t.refused[REASON_NOT_IN_POLICY], seen->taken + t.missed);
		seen->settled++;
	}
	if (!ring_take(w->ring, &r))
		return false;
	assert_true(seen->taken == 0 || r.bytes_out > *last);
	*last = r.bytes_out;
	seen->taken++;
	return true;
}

/* Sleeps until it is woken; whoever put something after the reader's word has to. */
static void sleep_till_woken(const struct world *w)
{
	struct pollfd f = {.fd = w->wake, .events = POLLIN};
	uint64_t wakes;

	assert_int_equal(poll(&f, 1, PATIENT_MS), 1);
	assert_int_equal(read(w->wake, &wakes, sizeof(wakes)), sizeof(wakes));
}

/* Takes all that is put, and says so wherever the writer waits for it. */
static void take_all(struct world *w, int go, struct seen *seen)
{
	uint64_t last = 0, told = 0, there = 0;
	struct record_totals t;

	while (there < PUTS) {
		while (take_one(w, seen, &last))
			;
		if (!ring_may_sleep(w->ring))
			continue;
		/* Of what is not in these totals yet there is a wake-up. */
		ring_read_totals(w->ring, &t);
		there = seen->taken + t.missed;
		if (is_pause(there) && there != told) {
			assert_int_equal(write(go, "", 1), 1);
			told = there;
		}
		if (there < PUTS)
			sleep_till_woken(w);
	}
}

static void two_processes_lose_nothing_silently(void **state)
{
	struct world *w = *state;
	struct record_totals t;
	struct seen seen = {0};
	int go[2], status;
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		put_many(w, go[0]);
		_exit(0);
	}
	take_all(w, go[1], &seen);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(go[0]);
	close(go[1]);
	ring_read_totals(w->ring, &t);
	assert_int_equal(t.refused[REASON_NOT_IN_POLICY], PUTS);
	assert_int_equal(ring_taken(w->ring), seen.taken);
	assert_int_equal(seen.taken + t.missed, PUTS);
	assert_int_equal(t.missed, t.missed_refused[REASON_NOT_IN_POLICY]);
	assert_true(seen.settled > 0);
}

/* A gate that is killed anywhere: what its totals count, and no record told of, is one at most. */
static void a_killed_gate_leaves_one_put_open_at_most(void **state)
{
	struct world *w = *state;
	uint64_t taken = 0, put, lost = 0;
	struct record_totals t;
	struct record r;

	for (unsigned i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			put_many(w, -1);
			_exit(0);
		}
		usleep(200 + i * 7);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		ring_mend(w->ring);
		assert_true(ring_read_settled(w->ring, &t, &put));
		while (ring_take(w->ring, &r))
			taken++;
		assert_int_equal(put, taken);
		put = t.refused[REASON_NOT_IN_POLICY] - taken - t.missed;
		assert_in_range(put - lost, 0, 1);
		lost = put;
	}
}

/* --- a hostile gate --- */

static void scribble(const struct world *w)
{
	unsigned seed = 1;
	uint8_t *p = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);

	for (;;) {
		size_t at = (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 4096 : ring_size() - 8);
		uint64_t value = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 64);

		memcpy(p + at, &value, sizeof(value));
	}
}

static void a_hostile_gate_is_survived(void **state)
{
	struct world *w = *state;
	struct record_totals t;
	struct record r;
	uint64_t put, valid = 0;
	pid_t pid = fork();

	if (pid == 0)
		scribble(w);
	for (size_t i = 0; i < 300000; i++) {
		if (ring_take(w->ring, &r))
			valid += record_valid(&r);
		if (i % 64 == 0 && ring_read_settled(w->ring, &t, &put))
			ring_may_sleep(w->ring);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Zeroes with a kind are a record; scribbled ones hardly are. */
	assert_true(valid < 300000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_put_is_taken_in_order, begin, end),
		cmocka_unit_test_setup_teardown(what_finds_no_room_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(the_file_keeps_records_and_totals, begin, end),
		cmocka_unit_test_setup_teardown(a_file_that_is_no_ring_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(the_totals_of_an_earlier_version_go_on, begin, end),
		cmocka_unit_test_setup_teardown(a_later_version_is_not_guessed_at, begin, end),
		cmocka_unit_test_setup_teardown(a_page_without_sense_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(what_was_cut_short_in_moving_on_is_finished, begin,
						end),
		cmocka_unit_test_setup_teardown(what_had_a_credential_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(a_sleeper_is_woken_once, begin, end),
		cmocka_unit_test_setup_teardown(totals_are_raised_and_never_lowered, begin, end),
		cmocka_unit_test_setup_teardown(two_processes_lose_nothing_silently, begin, end),
		cmocka_unit_test_setup_teardown(a_killed_gate_leaves_one_put_open_at_most, begin,
						end),
		cmocka_unit_test_setup_teardown(a_hostile_gate_is_survived, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
