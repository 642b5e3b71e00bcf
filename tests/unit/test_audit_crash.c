/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer is killed, again and again: what it said was sealed is there, and the log holds.
 *
 * The disk of the log is built with DISK_FAULTS, and asks here before each step. A writer dies at a
 * step chosen at random, in the middle of a write when it is one. In half of the cases the power
 * goes as well: of what was written since the last sync of its file, some never reached the disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "audit/disk.h"
#include "audit_folder.h"

enum { KILLS = 1000, TIMED_KILLS = 60, RECORDS = 512, STEPS_MAX = 70 };

/* ---- The disk ---- */

/* A write that no sync followed yet. */
struct unsynced {
	ino_t file;
	char name[40];
	uint64_t at;
	size_t n;
};

/* Shared with the writer, and read when that is dead. */
static struct shared {
	uint64_t acknowledged; /* "n" of the last entry that was sealed; 0: none */
	struct unsynced writes[RECORDS];
	size_t n_writes;
} * shared;

static unsigned dies_at; /* the step; 0: never */
static unsigned steps;
static unsigned seed;
static int fails_with; /* of one step in fails_one_in, when not 0 */
static unsigned fails_one_in = 3;
static unsigned fails_from, fails_to; /* steps that fail with EIO, whatever else; 0: none */
static char trace[256];

static unsigned any(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

static void name_of(int fd, char out[40])
{
	char link[64], path[256];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	snprintf(out, 40, "%.39s", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

static void forget_writes(ino_t file)
{
	size_t kept = 0;

	for (size_t i = 0; i < shared->n_writes; i++)
		if (shared->writes[i].file != file)
			shared->writes[kept++] = shared->writes[i];
	shared->n_writes = kept;
}

static void note_step(const struct disk_step *step, size_t n)
{
	struct stat st;

	if (fstat(step->fd, &st) != 0)
		return;
	if (step->op == DISK_SYNC || step->op == DISK_CUT)
		forget_writes(st.st_ino);
	if (step->op != DISK_WRITE || shared->n_writes == RECORDS)
		return;
	shared->writes[shared->n_writes] =
		(struct unsynced){.file = st.st_ino, .at = step->at, .n = n};
	name_of(step->fd, shared->writes[shared->n_writes++].name);
}

/* A kernel that could not write pages out says so once, and may drop them. */
static void drop_pages(int fd)
{
	static const char zeros[8192];
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	for (size_t i = 0; i < shared->n_writes; i++) {
		const struct unsynced *w = &shared->writes[i];

		if (w->file != st.st_ino)
			continue;
		assert_true(w->n <= sizeof(zeros));
		assert_int_equal(pwrite(fd, zeros, w->n, (off_t)w->at), w->n);
	}
}

struct disk_fate disk_fault(const struct disk_step *step)
{
	struct disk_fate fate = {.n = step->n};

	if (steps < sizeof(trace) - 1)
		trace[steps] = "wsccnr"[step->op];
	steps++;
	if (steps == dies_at) {
		fate.n = step->n ? any((unsigned)step->n + 1) : 0;
		fate.dies = true;
	} else if (fails_with && any(fails_one_in) == 0) {
		fate.n = step->n ? any((unsigned)step->n) : 0;
		fate.error = fails_with;
	} else if (steps >= fails_from && steps <= fails_to) {
		fate.n = step->n / 2;
		fate.error = EIO;
	}
	if (step->op == DISK_SYNC && fate.error == EIO)
		drop_pages(step->fd);
	else if (!(fate.dies && step->op == DISK_SYNC))
		note_step(step, fate.n);
	return fate;
}

/* Of each write that was not synced: it is there, or zeros are, or the file ends before it. */
static void lose_power(const struct folder *f)
{
	static const char zeros[8192];

	for (size_t i = shared->n_writes; i-- > 0;) {
		const struct unsynced *w = &shared->writes[i];
		int fd = openat(f->fd, w->name, O_WRONLY | O_CLOEXEC);

		/* An edge that was not synced was not renamed either. */
		if (fd < 0 || strstr(w->name, ".new") || any(3) == 0) {
			/* It is there. */
		} else if (any(2)) {
			assert_int_equal(ftruncate(fd, (off_t)w->at), 0);
		} else {
			assert_true(w->n <= sizeof(zeros));
			assert_true(pwrite(fd, zeros, w->n, (off_t)w->at) >= 0);
		}
		if (fd >= 0)
			close(fd);
	}
}

/* ---- The writer ---- */

static const struct audit_log_options options = {
	.origin = "sandgate/test/crash", .segment_bytes = 1500, .keep_segments = 6};

static json_t *note(uint64_t n)
{
	char pad[200];
	size_t room = any(sizeof(pad));

	memset(pad, 'x', room);
	pad[room] = 0;
	return json_pack("{s:s,s:I,s:s}", "action", "sandgate.test.note", "n", (json_int_t)n, "pad",
			 pad);
}

/* Writes entries until it is killed. What failed is tried again, when the disk fails with `error`. */
static void write_on(const struct folder *f, uint64_t n, int error)
{
	struct err e;
	struct audit_log *l = audit_log_open(f->fd, &options, &e);

	if (!l)
		_exit(3);
	fails_with = error;
	for (uint64_t first = n; n < first + 400;) {
		for (unsigned i = any(6); i-- > 0;) {
			if (audit_log_append(l, note(n)) == 0)
				n++;
			else if (!error)
				_exit(4);
		}
		if (audit_log_commit(l, any(3) == 0) == 0) {
			if (n > first)
				shared->acknowledged = n - 1;
		} else if (!error) {
			_exit(5);
		}
	}
	audit_log_close(l);
	_exit(0);
}

/* ---- What must be so afterwards ---- */

struct reading {
	uint64_t last;	/* "n" of the last entry of ours */
	uint64_t first; /* of the first */
	bool whole;	/* and none is missing in between */
};

static bool read_note(void *ctx, uint64_t seq, struct span line)
{
	struct reading *r = ctx;
	json_t *entry = json_loadb((const char *)line.p, line.n, 0, NULL);
	const json_t *n = json_object_get(entry, "n");
	uint64_t is = (uint64_t)json_integer_value(n);

	if (n && r->last && is != r->last + 1)
		r->whole = false;
	if (n && !r->first)
		r->first = is;
	if (n)
		r->last = is;
	json_decref(entry);
	return true;
}

static struct reading read_notes(const struct folder *f)
{
	struct reading r = {.whole = true};
	struct err e;

	assert_int_equal(audit_each(f->fd, 0, read_note, &r, &e), 0);
	return r;
}

/* Opens it again: what was acknowledged is there, and all of it holds. The last "n" there is. */
static uint64_t assert_recovered(const struct folder *f, unsigned kill)
{
	struct err e;
	struct audit_log *l;
	struct audit_verdict v;
	struct reading r;

	dies_at = 0;
	l = audit_log_open(f->fd, &options, &e);
	if (!l)
		fail_msg("kill %u: %s", kill, e.text);
	audit_log_close(l);
	v = verdict_of(f);
	if (!v.holds || v.unsealed)
		fail_msg("kill %u: %s", kill, v.why.text);
	r = read_notes(f);
	if (!r.whole || r.last < shared->acknowledged)
		fail_msg("kill %u: %" PRIu64 " was sealed, the last one there is %" PRIu64, kill,
			 shared->acknowledged, r.last);
	if (r.first > 1 && !v.pruned)
		fail_msg("kill %u: the log begins with %" PRIu64, kill, r.first);
	return r.last;
}

static pid_t start_writer(const struct folder *f, uint64_t n, unsigned at, int error)
{
	pid_t pid;

	shared->n_writes = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		steps = 0;
		dies_at = at;
		write_on(f, n, error);
	}
	return pid;
}

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	assert_int_equal(WEXITSTATUS(status), 0);
	return 0;
}

static void start_again(struct folder *f, uint64_t *n)
{
	folder_remove(f);
	*f = folder_make();
	*n = 0;
	shared->acknowledged = 0;
}

/* The disk fails now and then with one of `errors`, by turns; 0: it does not. */
static void kill_at_steps(unsigned steps_max, const int errors[2])
{
	struct folder f = folder_make();
	uint64_t n = 0, entries = 0;

	for (unsigned kill = 0; kill < KILLS; kill++) {
		bool power = any(2);
		pid_t pid;

		/* The making of a log is hit as well. */
		if (kill % 20 == 0)
			start_again(&f, &n);
		pid = start_writer(&f, n + 1, 1 + any(steps_max), errors[kill % 2]);
		assert_int_equal(wait_for(pid), SIGKILL);
		if (power)
			lose_power(&f);
		entries -= n;
		n = assert_recovered(&f, kill);
		entries += n;
	}
	printf("%d kills, %" PRIu64 " entries sealed\n", KILLS, entries);
	folder_remove(&f);
}

static void nothing_sealed_is_lost_at_a_thousand_kills(void **state)
{
	kill_at_steps(STEPS_MAX, (const int[]){0, 0});
}

static void nothing_sealed_is_lost_when_the_disk_failed_before_the_kill(void **state)
{
	fails_one_in = 8;
	kill_at_steps(2 * STEPS_MAX, (const int[]){EIO, ENOSPC});
	fails_one_in = 3;
}

static void nothing_sealed_is_lost_at_kills_at_any_time(void **state)
{
	struct folder f = folder_make();
	uint64_t n = 0;

	start_again(&f, &n);
	for (unsigned kill_no = 0; kill_no < TIMED_KILLS; kill_no++) {
		const struct timespec pause = {.tv_nsec = (long)any(20000) * 1000};
		pid_t pid = start_writer(&f, n + 1, 0, 0);

		nanosleep(&pause, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		wait_for(pid);
		n = assert_recovered(&f, kill_no);
	}
	folder_remove(&f);
}

/* ---- A disk that fails, and then does not ---- */

static uint64_t append_what_goes(struct audit_log *l, uint64_t n, unsigned tries, unsigned *failed)
{
	for (unsigned i = 0; i < tries; i++) {
		if (audit_log_append(l, note(n + 1)) == 0)
			n++;
		else
			++*failed;
		if (any(4) == 0 && audit_log_commit(l, any(2)) < 0)
			++*failed;
	}
	return n;
}

static void assert_outlives(int error)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct audit_verdict v;
	struct reading r;
	unsigned failed = 0;
	uint64_t n = 0;

	for (unsigned round = 0; round < 40; round++) {
		fails_with = error;
		shared->n_writes = 0;
		n = append_what_goes(l, n, 20, &failed);
		fails_with = 0;
		assert_int_equal(audit_log_commit(l, true), 0);
		v = verdict_of(&f);
		if (!v.holds || v.torn || v.unsealed)
			fail_msg("%s (%u torn)", v.why.text, (unsigned)v.torn);
		/* What was taken is there, what was not is not. */
		r = read_notes(&f);
		assert_true(r.whole);
		assert_int_equal(r.last, n);
	}
	assert_true(failed > 100);
	audit_log_close(l);
	folder_remove(&f);
}

static void a_disk_that_is_full_at_times_loses_nothing(void **state)
{
	assert_outlives(ENOSPC);
}

static void a_disk_that_fails_at_times_loses_nothing(void **state)
{
	assert_outlives(EIO);
}

/* ---- A step that fails, chosen ---- */

static void fail_steps(unsigned from, unsigned to)
{
	steps = 0;
	fails_from = from;
	fails_to = to;
}

/* A line of which a half was written, and that could not be taken back at once. */
static void a_commit_takes_away_what_an_append_left(void **state)
{
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &options);
	struct audit_verdict v;

	assert_int_equal(audit_log_append(l, note(1)), 0);
	assert_int_equal(audit_log_commit(l, true), 0);
	fail_steps(1, 2);
	assert_int_equal(audit_log_append(l, note(2)), -EIO);
	assert_int_equal(steps, 2);
	assert_true(audit_log_dirty(l));
	assert_true(verdict_of(&f).torn > 0);
	assert_int_equal(audit_log_commit(l, false), 0);
	assert_false(audit_log_dirty(l));
	v = verdict_of(&f);
	assert_true(v.holds);
	assert_int_equal(v.torn, 0);
	audit_log_close(l);
	folder_remove(&f);
}

/*
 * An edge was put that ends a segment, and the sync after it failed: whoever reads the folder may
 * find it there. Nothing may be written behind the end of that segment any more.
 */
static void nothing_is_written_behind_an_edge_that_may_be_there(void **state)
{
	const struct audit_log_options small = {.origin = "sandgate/test/crash",
						.segment_bytes = 1};
	struct folder f = folder_make(), crashed = folder_make();
	struct audit_log *l = log_open(&f, &small);

	assert_int_equal(audit_log_append(l, note(1)), 0);
	/* sws cwsns: the last of them. */
	fail_steps(9 - 1, 9);
	assert_int_equal(audit_log_commit(l, false), -EIO);
	assert_int_equal(steps, 8);
	assert_int_equal(audit_log_append(l, note(2)), -EIO);
	fail_steps(0, 0);
	for (uint64_t n = 2; n < 4; n++) {
		struct audit_verdict v;

		assert_int_equal(audit_log_append(l, note(n)), 0);
		folder_copy(&f, &crashed);
		v = verdict_of(&crashed);
		if (!v.holds)
			fail_msg("%s", v.why.text);
		audit_log_close(log_open(&crashed, &small));
		v = verdict_of(&crashed);
		if (!v.holds)
			fail_msg("opened again: %s", v.why.text);
		assert_int_equal(read_notes(&crashed).last, n);
	}
	audit_log_close(l);
	folder_remove(&f);
	folder_remove(&crashed);
}

/* ---- The order ---- */

/* w: write, s: sync, c: cut or make, n: rename, r: remove. */
static void the_order_of_a_commit_is_kept(void **state)
{
	const struct audit_log_options plain = {.origin = "sandgate/test/crash"};
	struct folder f = folder_make();
	struct audit_log *l = log_open(&f, &plain);

	assert_int_equal(audit_log_append(l, note(1)), 0);
	memset(trace, 0, sizeof(trace));
	steps = 0;
	assert_int_equal(audit_log_append(l, note(2)), 0);
	assert_string_equal(trace, "w");
	assert_int_equal(audit_log_commit(l, true), 0);
	/*
	 * The line; its sync; hashes and sync; edge.new, sync, rename, sync of the folder;
	 * checkpoint likewise.
	 */
	assert_string_equal(trace, "w"
				   "s"
				   "ws"
				   "cwsns"
				   "cwsns");
	audit_log_close(l);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_sealed_is_lost_at_a_thousand_kills),
		cmocka_unit_test(nothing_sealed_is_lost_when_the_disk_failed_before_the_kill),
		cmocka_unit_test(nothing_sealed_is_lost_at_kills_at_any_time),
		cmocka_unit_test(a_disk_that_is_full_at_times_loses_nothing),
		cmocka_unit_test(a_disk_that_fails_at_times_loses_nothing),
		cmocka_unit_test(a_commit_takes_away_what_an_append_left),
		cmocka_unit_test(nothing_is_written_behind_an_edge_that_may_be_there),
		cmocka_unit_test(the_order_of_a_commit_is_kept),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	seed = getenv("SEED") ? (unsigned)strtoul(getenv("SEED"), NULL, 10) : (unsigned)time(NULL);
	printf("SEED=%u\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
