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

static uint64_t counted(const struct world *w, enum reason reason)
{
	struct record_totals gate, broker = {0};

	ring_read_totals(w->ring, &gate);
	if (w->broker)
		ring_read_totals(w->broker, &broker);
	return gate.refused[reason] + broker.refused[reason];
}

/* written + suppressed = total, of the log and of the rings. */
static void assert_exact(const struct world *w, enum reason reason, uint64_t wanted)
{
	struct found f = find(w, "sandgate.egress.deny", reason_word(reason));

	assert_int_equal(counted(w, reason), wanted);
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

/* --- two rings --- */

static void carry(struct world *w, const char *credential, unsigned n)
{
	struct record r = {.kind = RECORD_ALLOW,
			   .proto = RECORD_HTTP,
			   .has_name = true,
			   .port = 443,
			   .status = 200,
			   .method = "GET",
			   .path = "/v1",
			   .time_ms = now_ms()};

	assert_int_equal(name_parse_ascii("api.example.com", 15, &r.name), NAME_OK);
	record_put_text(r.credential, sizeof(r.credential), span_of_string(credential));
	for (unsigned i = 0; i < n; i++)
		ring_put(w->broker, w->wake, &r);
}

static void refuse_by_broker(struct world *w, enum reason reason, unsigned n)
{
	struct record r = {.kind = RECORD_DENY,
			   .proto = RECORD_HTTP,
			   .reason = (uint8_t)reason,
			   .has_name = true,
			   .port = 443,
			   .method = "PUT",
			   .path = "/v1",
			   .time_ms = now_ms()};

	assert_int_equal(name_parse_ascii("api.example.com", 15, &r.name), NAME_OK);
	for (unsigned i = 0; i < n; i++)
		ring_put(w->broker, w->wake, &r);
}

/* Of the log: entries with or without a credential, and what they say was suppressed. */
struct requests {
	uint64_t with, without, suppressed_with, suppressed_without;
	json_t *totals;
};

static bool look_at_request(void *ctx, uint64_t seq, struct span line)
{
	struct requests *f = ctx;
	struct entry en;
	struct err e;
	uint64_t more;

	assert_int_equal(entry_parse(line, &en, &e), 0);
	more = (uint64_t)json_integer_value(json_object_get(en.value, "suppressed"));
	if (json_object_get(en.value, "totals")) {
		json_decref(f->totals);
		f->totals = json_incref(json_object_get(en.value, "totals"));
	}
	if (strcmp(json_string_value(json_object_get(en.value, "action")),
		   "sandgate.egress.allow") == 0) {
		bool with = json_object_get(en.value, "credential") != NULL;

		*(with ? &f->with : &f->without) += 1;
		*(with ? &f->suppressed_with : &f->suppressed_without) += more;
	}
	entry_free(&en);
	return true;
}

static void assert_requests(const struct world *w, uint64_t without, uint64_t with)
{
	_cleanup_fd_ int dir = open_audit(w);
	struct requests f = {0};
	struct err e;

	assert_int_equal(audit_each(dir, 0, look_at_request, &f, &e), 0);
	assert_int_equal(f.without + f.suppressed_without, without);
	assert_int_equal(f.with + f.suppressed_with, with);
	assert_int_equal(json_integer_value(json_object_get(f.totals, "allowed")), without);
	assert_int_equal(json_integer_value(json_object_get(f.totals, "credential-used")), with);
	json_decref(f.totals);
}

/* The second one while the sealer runs, as a live change brings a broker. */
static void a_broker_that_comes_later_is_heard(void **state)
{
	struct world *w = *state;

	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	refuse(w, REASON_NOT_IN_POLICY, 30);
	sealer_rig_add_broker(w);
	carry(w, "", 5);
	carry(w, "Authorization at api.example.com", 3);
	refuse_by_broker(w, REASON_NOT_IN_POLICY, 12);
	refuse_by_broker(w, REASON_OPERATION_NOT_ALLOWED, 2);
	end_of_run(w);
	verify(w);
	assert_requests(w, 5, 3);
	assert_exact(w, REASON_NOT_IN_POLICY, 42);
	assert_exact(w, REASON_OPERATION_NOT_ALLOWED, 2);
}

/* Of two sealers and two runs: what either ring has counted is counted once. */
static void both_rings_count_on_after_a_stop(void **state)
{
	struct world *w = *state;

	for (unsigned run = 1; run <= 3; run++) {
		if (run > 1)
			sealer_rig_add_broker(w);
		sealer_rig_start(w);
		if (run == 1)
			sealer_rig_add_broker(w);
		note(w, "sandgate.sandbox.start");
		refuse(w, REASON_NOT_IN_POLICY, 100);
		refuse_by_broker(w, REASON_NOT_IN_POLICY, 50);
		carry(w, "", 200);
		carry(w, "x at y", 130);
		end_of_run(w);
		verify(w);
		assert_exact(w, REASON_NOT_IN_POLICY, run * 150);
		assert_requests(w, run * 200, run * 130);
		sealer_rig_close(w);
		sealer_rig_open(w);
	}
}

/* A file that is gone: what the log has is still the least that there was, of each kind. */
static void rings_begun_anew_count_on(void **state)
{
	static const char *const files[] = {"ring", "ring-broker"};
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		sealer_rig_add_broker(w);
		sealer_rig_start(w);
		note(w, "sandgate.sandbox.start");
		refuse(w, REASON_NOT_IN_POLICY, 7);
		refuse_by_broker(w, REASON_NOT_IN_POLICY, 4);
		carry(w, "", 6);
		carry(w, "x at y", 2);
		end_of_run(w);
		sealer_rig_close(w);
		w->folder = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(unlinkat(w->folder, files[i], 0), 0);
		close(w->folder);
		sealer_rig_open(w);
	}
	sealer_rig_add_broker(w);
	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	end_of_run(w);
	verify(w);
	assert_exact(w, REASON_NOT_IN_POLICY, 22);
	assert_requests(w, 12, 4);
}

static bool is_in_order(void *ctx, uint64_t seq, struct span line)
{
	json_int_t *last = ctx;
	struct entry en;
	struct err e;
	json_int_t port;

	assert_int_equal(entry_parse(line, &en, &e), 0);
	port = json_integer_value(json_object_get(en.value, "port"));
	if (port) {
		assert_int_equal(port, *last + 1);
		*last = port;
	}
	entry_free(&en);
	return true;
}

/* By the time that they say, whichever ring they came through. */
static void the_earlier_record_goes_first(void **state)
{
	struct world *w = *state;
	_cleanup_fd_ int dir = -1;
	int64_t begin = now_ms() - 1000;
	json_int_t last = 0;
	struct err e;

	sealer_rig_add_broker(w);
	for (unsigned i = 1; i <= 18; i++) {
		struct record r = {.kind = RECORD_DENY,
				   .proto = RECORD_HTTP,
				   .reason = REASON_NOT_IN_POLICY,
				   .port = (uint16_t)i,
				   .time_ms = begin + i};

		ring_put(i % 3 ? w->ring : w->broker, w->wake, &r);
	}
	sealer_rig_start(w);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	dir = open_audit(w);
	assert_int_equal(audit_each(dir, 0, is_in_order, &last, &e), 0);
	assert_int_equal(last, 18);
}

static void requests_grow_the_log_by_their_rate_alone(void **state)
{
	struct world *w = *state;

	sealer_rig_add_broker(w);
	sealer_rig_start(w);
	note(w, "sandgate.sandbox.start");
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	for (unsigned i = 0; i < 50; i++) {
		carry(w, "", 300);
		carry(w, "x at y", 300);
		refuse_by_broker(w, REASON_OPERATION_NOT_ALLOWED, 300);
		refuse(w, REASON_NOT_IN_POLICY, 300);
		poll(NULL, 0, 2);
	}
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	assert_int_equal(verify(w), 1 + 2 * 120 + 2 * 20);
	end_of_run(w);
	verify(w);
	assert_requests(w, 15000, 15000);
	assert_exact(w, REASON_OPERATION_NOT_ALLOWED, 15000);
	assert_exact(w, REASON_NOT_IN_POLICY, 15000);
}

/* A gate that was taken over cannot say that a credential was used, nor that a request passed. */
static void a_gate_knows_of_no_credential(void **state)
{
	struct world *w = *state;
	struct ring *broker;
	struct found f;

	sealer_rig_add_broker(w);
	broker = w->broker;
	w->broker = w->ring;
	carry(w, "x at y", 3);
	carry(w, "", 3);
	w->broker = broker;
	sealer_rig_start(w);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	f = find(w, "sandgate.egress.allow", NULL);
	assert_int_equal(f.entries, 0);
	forget(&f);
	f = find(w, "sandgate.audit.garbled", NULL);
	assert_int_equal(f.entries, 1);
	assert_int_equal(json_integer_value(json_object_get(f.last, "records")), 3);
	assert_string_equal(json_string_value(json_object_get(f.last, "why")),
			    "the gate wrote records that are none");
	forget(&f);
}

/* And a broker not that of a connection. */
static void a_broker_knows_of_requests_alone(void **state)
{
	struct world *w = *state;
	struct ring *gate = w->ring;
	struct found f;

	sealer_rig_add_broker(w);
	w->ring = w->broker;
	refuse(w, REASON_NOT_IN_POLICY, 4);
	w->ring = gate;
	sealer_rig_start(w);
	assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
	f = find(w, "sandgate.audit.garbled", NULL);
	assert_int_equal(f.entries, 1);
	assert_int_equal(json_integer_value(json_object_get(f.last, "records")), 4);
	assert_string_equal(json_string_value(json_object_get(f.last, "why")),
			    "the broker wrote records that are none");
	forget(&f);
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

static pid_t start_broker(struct world *w)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		refuse_by_broker(w, REASON_NOT_IN_POLICY, 5);
		carry(w, "", 9);
		carry(w, "x at y", 4);
		poll(NULL, 0, 1);
	}
}

static void end_writer(struct ring *ring, pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	ring_mend(ring);
}

/* On a busy machine both may hardly have run until now. */
static void await_many(const struct world *w)
{
	mono_t until = mono_add_ms(mono_now(), SYNC_MS);
	struct record_totals t;

	do {
		poll(NULL, 0, 10);
		ring_read_totals(w->broker, &t);
	} while ((counted(w, REASON_NOT_IN_POLICY) <= 1000 || t.with_credential <= 100) &&
		 mono_before(mono_now(), until));
}

/* Deaths of all three at any moment; in between notes, each of which must be there once. */
static void nothing_is_lost_with_a_process(void **state)
{
	struct world *w = *state;
	unsigned seed = 7, notes = 0;
	struct record_totals t;
	struct found f;
	pid_t gate, broker;

	sealer_rig_add_broker(w);
	sealer_rig_start(w);
	gate = start_gate(w);
	broker = start_broker(w);
	for (unsigned i = 0; i < 50; i++) {
		for (unsigned k = rand_r(&seed) % 3; k > 0; k--, notes++)
			note(w, "sandgate.policy.change");
		poll(NULL, 0, (int)(rand_r(&seed) % 30));
		if (i % 2) {
			end_writer(w->ring, gate);
			gate = start_gate(w);
		}
		if (i % 3) {
			end_writer(w->broker, broker);
			broker = start_broker(w);
		}
		bury(w);
		sealer_rig_start(w);
	}
	await_many(w);
	end_writer(w->ring, gate);
	end_writer(w->broker, broker);
	end_of_run(w);
	verify(w);
	assert_true(counted(w, REASON_NOT_IN_POLICY) > 1000);
	assert_exact(w, REASON_NOT_IN_POLICY, counted(w, REASON_NOT_IN_POLICY));
	assert_exact(w, REASON_DENIED_BY_RULE, counted(w, REASON_DENIED_BY_RULE));
	ring_read_totals(w->broker, &t);
	assert_true(t.with_credential > 100);
	assert_requests(w, t.allowed - t.with_credential, t.with_credential);
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
		WITH_WORLD(a_broker_that_comes_later_is_heard),
		WITH_WORLD(both_rings_count_on_after_a_stop),
		WITH_WORLD(rings_begun_anew_count_on),
		WITH_WORLD(the_earlier_record_goes_first),
		WITH_WORLD(requests_grow_the_log_by_their_rate_alone),
		WITH_WORLD(a_gate_knows_of_no_credential),
		WITH_WORLD(a_broker_knows_of_requests_alone),
		WITH_WORLD(a_flood_is_not_kept_line_by_line),
		WITH_WORLD(nothing_is_lost_with_a_process),
		WITH_WORLD(the_end_of_the_supervisor_is_sealed),
		WITH_WORLD(nothing_is_lost_with_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
