/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealer as a process, on a real file system: no death and no full disk loses anything
 * silently.
 */
#include "sealer_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/connection_reader.h"
#include "audit/entry.h"
#include "audit/log.h"
#include "base/clock.h"

enum { FULL_BLOCKS = 4096, TMPFS_KIB = 2560 };

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void note(struct world *w, const char *action)
{
	assert_int_equal(sealer_note(&w->sealer,
				     json_pack("{s:s, s:s}", "action", action, "sandbox", "box")),
			 0);
}

static void refuse(struct world *w, enum reason reason, unsigned n)
{
	struct record r = {.kind = RECORD_DENY,
			   .proto = RECORD_TCP,
			   .reason = (uint8_t)reason,
			   .has_addr = true,
			   .port = 81,
			   .time_ms = now_ms()};

	assert_true(addr_parse("93.184.9.9", 10, &r.addr));
	for (unsigned i = 0; i < n; i++)
		ring_put(w->ring, w->wake, &r);
}

static int open_audit(const struct world *w)
{
	int fd = openat(w->folder, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Holds, and is signed to the end. */
static uint64_t verify(const struct world *w)
{
	_cleanup_fd_ int dir = open_audit(w);
	struct audit_verdict v;
	struct err e;

	assert_int_equal(audit_verify(dir, span_of("", 0), span_of("", 0), &v, &e), 0);
	if (!v.holds)
		fail_msg("%s", v.why.text);
	assert_int_equal(v.unsealed, 0);
	return v.size;
}

struct found {
	const char *action, *reason;
	uint64_t entries;    /* of the action and, when it is not NULL, of the reason */
	uint64_t suppressed; /* the sum over them */
	json_t *totals;	     /* the last */
	json_t *last;
};

static bool look_at(void *ctx, uint64_t seq, struct span line)
{
	struct found *f = ctx;
	struct entry en;
	struct err e;
	const char *action, *reason;

	assert_int_equal(entry_parse(line, &en, &e), 0);
	action = json_string_value(json_object_get(en.value, "action"));
	reason = json_string_value(json_object_get(en.value, "reason"));
	if (json_object_get(en.value, "totals")) {
		json_decref(f->totals);
		f->totals = json_incref(json_object_get(en.value, "totals"));
	}
	if (strcmp(action, f->action) == 0 &&
	    (!f->reason || (reason && strcmp(reason, f->reason) == 0))) {
		f->entries++;
		f->suppressed +=
			(uint64_t)json_integer_value(json_object_get(en.value, "suppressed"));
		json_decref(f->last);
		f->last = json_incref(en.value);
	}
	entry_free(&en);
	return true;
}

static struct found find(const struct world *w, const char *action, const char *reason)
{
	struct found f = {.action = action, .reason = reason};
	_cleanup_fd_ int dir = open_audit(w);
	struct err e;

	assert_int_equal(audit_each(dir, 0, look_at, &f, &e), 0);
	return f;
}

static void forget(struct found *f)
{
	json_decref(f->totals);
	json_decref(f->last);
}

/* written + suppressed = total, of the log and of the ring. */
static void assert_exact(const struct world *w, enum reason reason, uint64_t wanted)
{
	struct found f = find(w, "sandgate.egress.deny", reason_word(reason));
	struct record_totals t;

	ring_read_totals(w->ring, &t);
	assert_int_equal(t.refused[reason], wanted);
	assert_int_equal(f.entries + f.suppressed, wanted);
	assert_int_equal(json_integer_value(json_object_get(f.totals, reason_word(reason))),
			 wanted);
	forget(&f);
}

static void end_of_run(struct world *w)
{
	note(w, "sandgate.sandbox.stop");
	sealer_stop(&w->sealer, SYNC_MS);
}

/* --- what it does --- */

static void all_that_happens_is_sealed(void **state)
{
	struct world *w = *state;
	struct found f;

	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	refuse(w, REASON_NOT_IN_POLICY, 500);
	refuse(w, REASON_DNS_OFF, 3);
	end_of_run(w);
	verify(w);
	assert_exact(w, REASON_NOT_IN_POLICY, 500);
	assert_exact(w, REASON_DNS_OFF, 3);
	f = find(w, "sandgate.egress.deny", "not-in-policy");
	/* Twenty in the minute, and at the stop what waited. */
	assert_int_equal(f.entries, 21);
	forget(&f);
}

/* A gate that was taken over says what time it likes; entries after it have the right one all the
 * same. */
static void a_record_of_the_future_does_not_move_the_clock(void **state)
{
	struct world *w = *state;
	struct record r = {.kind = RECORD_DENY,
			   .proto = RECORD_TCP,
			   .reason = REASON_NOT_IN_POLICY,
			   .time_ms = INT64_C(253402300799999)};
	static const char *const actions[] = {"sandgate.egress.deny", "sandgate.sandbox.stop"};

	sealer_rig_start(w);
	assert_true(addr_parse("93.184.9.9", 10, &r.addr));
	r.has_addr = true;
	assert_true(record_valid(&r));
	ring_put(w->ring, w->wake, &r);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	end_of_run(w);
	verify(w);
	for (size_t i = 0; i < 2; i++) {
		struct found f = find(w, actions[i], NULL);
		const char *time = json_string_value(json_object_get(f.last, "time"));

		assert_int_equal(f.entries, 1);
		assert_true(entry_parse_time(time) <= now_ms());
		forget(&f);
	}
}

static void the_log_grows_by_its_rate_alone(void **state)
{
	struct world *w = *state;
	uint64_t size;

	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	for (unsigned i = 0; i < 100; i++) {
		refuse(w, REASON_NOT_IN_POLICY, 1000);
		poll(NULL, 0, 2);
	}
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	size = verify(w);
	assert_int_equal(size, 21);
	end_of_run(w);
	verify(w);
	assert_exact(w, REASON_NOT_IN_POLICY, 100000);
}

static void totals_go_on_after_a_stop(void **state)
{
	struct world *w = *state;
	struct found f;

	for (unsigned run = 1; run <= 3; run++) {
		sealer_rig_start(w);
		note(w, "sandgate.sandbox.start");
		assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
		refuse(w, REASON_NOT_IN_POLICY, 100);
		end_of_run(w);
		verify(w);
		assert_exact(w, REASON_NOT_IN_POLICY, run * 100);
		sealer_rig_close(w);
		sealer_rig_open(w);
	}
	/*
	 * A minute has not passed: three runs have written no more than one would, and a flush
	 * each.
	 */
	sealer_rig_start(w);
	refuse(w, REASON_NOT_IN_POLICY, 10);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	f = find(w, "sandgate.egress.deny", NULL);
	assert_int_equal(f.entries, 20 + 3);
	forget(&f);
}

static void a_ring_begun_anew_counts_on(void **state)
{
	struct world *w = *state;
	char ring[96];

	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	refuse(w, REASON_NOT_IN_POLICY, 7);
	end_of_run(w);
	sealer_rig_close(w);
	snprintf(ring, sizeof(ring), "%s/ring", w->path);
	assert_int_equal(unlink(ring), 0);
	sealer_rig_open(w);
	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	refuse(w, REASON_NOT_IN_POLICY, 5);
	end_of_run(w);
	verify(w);
	assert_exact(w, REASON_NOT_IN_POLICY, 12);
}

static size_t lines_of(const struct world *w, uint64_t *suppressed)
{
	_cleanup_fd_ int dir = openat(w->folder, "connections", O_RDONLY | O_DIRECTORY);
	struct connection_reader r;
	struct span line;
	json_int_t next = 0;
	size_t n = 0;

	*suppressed = 0;
	assert_int_equal(connection_reader_open(&r, dir, NULL), 0);
	for (; connection_reader_next(&r, &line) == 1; n++, next++) {
		json_t *o = json_loadb((const char *)line.p, line.n, JSON_REJECT_DUPLICATES, NULL);

		assert_non_null(o);
		assert_int_equal(json_integer_value(json_object_get(o, "seq")), next);
		*suppressed += (uint64_t)json_integer_value(json_object_get(o, "suppressed"));
		json_decref(o);
	}
	connection_reader_close(&r);
	return n;
}

static void a_flood_is_not_kept_line_by_line(void **state)
{
	struct world *w = *state;
	struct record allow = {.kind = RECORD_ALLOW, .proto = RECORD_TCP, .port = 1};
	uint64_t suppressed;
	size_t lines;

	sealer_rig_start(w);
	refuse(w, REASON_NOT_IN_POLICY, 20000);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	ring_put(w->ring, w->wake, &allow);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	lines = lines_of(w, &suppressed);
	assert_in_range(lines, 1000, 6000);
	assert_int_equal(lines + suppressed, 20001);
}

/* --- who dies --- */

static void bury(struct world *w)
{
	struct err how;

	assert_int_equal(kill(w->sealer.pid, SIGKILL), 0);
	sealer_bury(&w->sealer, &how);
	assert_non_null(strstr(how.text, "signal 9"));
	w->setup.alone = false;
}

/* A gate that refuses as fast as it can, in a process of its own that may be killed. */
static pid_t start_gate(struct world *w)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		refuse(w, REASON_NOT_IN_POLICY, 7);
		refuse(w, REASON_DENIED_BY_RULE, 3);
		poll(NULL, 0, 1);
	}
}

static void end_gate(struct world *w, pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	ring_mend(w->ring);
}

/* 100 deaths at any moment; in between notes, each of which must be there once. */
static void nothing_is_lost_with_a_process(void **state)
{
	struct world *w = *state;
	unsigned seed = 7, notes = 0;
	struct record_totals t;
	struct found f;
	pid_t gate;

	sealer_rig_start(w);
	gate = start_gate(w);
	for (unsigned i = 0; i < 50; i++) {
		for (unsigned k = rand_r(&seed) % 3; k > 0; k--, notes++)
			note(w, "sandgate.policy.change");
		poll(NULL, 0, (int)(rand_r(&seed) % 30));
		if (i % 2) {
			end_gate(w, gate);
			gate = start_gate(w);
		}
		bury(w);
		sealer_rig_start(w);
	}
	end_gate(w, gate);
	end_of_run(w);
	verify(w);
	ring_read_totals(w->ring, &t);
	assert_true(t.refused[REASON_NOT_IN_POLICY] > 1000);
	assert_exact(w, REASON_NOT_IN_POLICY, t.refused[REASON_NOT_IN_POLICY]);
	assert_exact(w, REASON_DENIED_BY_RULE, t.refused[REASON_DENIED_BY_RULE]);
	f = find(w, "sandgate.policy.change", NULL);
	assert_int_equal(f.entries, notes);
	forget(&f);
}

static void the_end_of_the_supervisor_is_sealed(void **state)
{
	struct world *w = *state;
	struct pollfd end = {.events = POLLIN};
	pid_t supervisor;
	int said[2];
	struct found f;

	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	supervisor = fork();
	if (supervisor == 0) {
		sealer_rig_start(w);
		note(w, "sandgate.sandbox.start");
		refuse(w, REASON_NOT_IN_POLICY, 50);
		(void)!write(said[1], &w->sealer.pid, sizeof(w->sealer.pid));
		pause();
	}
	assert_int_equal(read(said[0], &w->sealer.pid, sizeof(pid_t)), sizeof(pid_t));
	end.fd = (int)syscall(SYS_pidfd_open, w->sealer.pid, 0);
	assert_int_equal(kill(supervisor, SIGKILL), 0);
	assert_int_equal(waitpid(supervisor, NULL, 0), supervisor);
	assert_int_equal(poll(&end, 1, SYNC_MS), 1);
	w->sealer = SEALER_NONE;
	close(end.fd);
	close(said[0]);
	close(said[1]);
	verify(w);
	assert_exact(w, REASON_NOT_IN_POLICY, 50);
	f = find(w, "sandgate.sandbox.stop", NULL);
	assert_int_equal(f.entries, 1);
	assert_string_equal(json_string_value(json_object_get(f.last, "why")),
			    "the supervisor was killed");
	forget(&f);
}

/* --- a disk that is full --- */

static void mount_small(const struct world *w)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%dk,mode=700", TMPFS_KIB);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("small", w->path, "tmpfs", 0, options), 0);
}

static void fill(const struct world *w)
{
	int fd = openat(w->folder, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	static const char block[FULL_BLOCKS];

	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void nothing_is_lost_with_a_full_disk(void **state)
{
	struct world *w = *state;
	struct found f;

	sealer_rig_close(w);
	mount_small(w);
	sealer_rig_open(w);
	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	refuse(w, REASON_NOT_IN_POLICY, 5);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	fill(w);
	/* What is left of a block takes some of them. */
	for (unsigned i = 0; i < 100; i++)
		note(w, "sandgate.policy.change");
	for (unsigned i = 0; i < 10; i++) {
		refuse(w, REASON_NOT_IN_POLICY, 1000);
		poll(NULL, 0, 20);
	}
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), -ENOSPC);
	unlinkat(w->folder, "filler", 0);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	end_of_run(w);
	verify(w);
	assert_exact(w, REASON_NOT_IN_POLICY, 10005);
	f = find(w, "sandgate.policy.change", NULL);
	assert_int_equal(f.entries, 100);
	forget(&f);
	f = find(w, "sandgate.audit.recovered", NULL);
	assert_int_equal(f.entries, 1);
	assert_non_null(strstr(json_string_value(json_object_get(f.last, "why")), "No space"));
	assert_true(json_integer_value(json_object_get(f.last, "held")) > 0);
	forget(&f);
	sealer_rig_close(w);
	/* A sealer that has said its last word may still be on its way out. */
	assert_int_equal(umount2(w->path, MNT_DETACH), 0);
	sealer_rig_open(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(all_that_happens_is_sealed),
		WITH_WORLD(a_record_of_the_future_does_not_move_the_clock),
		WITH_WORLD(the_log_grows_by_its_rate_alone),
		WITH_WORLD(totals_go_on_after_a_stop),
		WITH_WORLD(a_ring_begun_anew_counts_on),
		WITH_WORLD(a_flood_is_not_kept_line_by_line),
		WITH_WORLD(nothing_is_lost_with_a_process),
		WITH_WORLD(the_end_of_the_supervisor_is_sealed),
		WITH_WORLD(nothing_is_lost_with_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
