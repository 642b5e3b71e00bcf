/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealer as a process, on a real file system: what it is confined to, and that no death and no
 * full disk loses anything silently.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/connection_reader.h"
#include "audit/entry.h"
#include "audit/log.h"
#include "audit/sealer.h"
#include "audit/sealer_confine.h"
#include "base/clock.h"

enum { SYNC_MS = 20000, FULL_BLOCKS = 4096, TMPFS_KIB = 2560 };

struct world {
	char path[64];
	int folder, ring_file, wake;
	struct ring *ring;
	struct sealer_setup setup;
	struct sealer sealer;
};

/* --- a world --- */

static void make_ring(struct world *w)
{
	struct err e;

	w->ring_file = openat(w->folder, "ring", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	w->ring = ring_map(w->ring_file, &e);
	assert_non_null(w->ring);
	ring_mend(w->ring);
}

static void open_world(struct world *w)
{
	w->folder = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(w->folder >= 0 && w->wake >= 0);
	make_ring(w);
	w->setup = (struct sealer_setup){
		.sandbox = "box",
		.folder = w->folder,
		.ring = w->ring_file,
		.wake = w->wake,
		.lasting = true,
		.alone = true,
	};
	w->sealer = SEALER_NONE;
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	snprintf(w->path, sizeof(w->path), "/tmp/sandgate-sealer.XXXXXX");
	assert_non_null(mkdtemp(w->path));
	open_world(w);
	*state = w;
	return 0;
}

static void close_world(struct world *w)
{
	sealer_stop(&w->sealer, SYNC_MS);
	ring_unmap(w->ring);
	w->ring = NULL;
	close(w->ring_file);
	close(w->wake);
	close(w->folder);
}

static int end(void **state)
{
	struct world *w = *state;
	char command[128];

	close_world(w);
	snprintf(command, sizeof(command), "rm -rf %s", w->path);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static void start(struct world *w)
{
	struct err e;

	if (sealer_start(&w->sealer, &w->setup, &e) || sealer_await_ready(&w->sealer, &e))
		fail_msg("%s", e.text);
}

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

	start(w);
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

static void the_log_grows_by_its_rate_alone(void **state)
{
	struct world *w = *state;
	uint64_t size;

	start(w);
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
		start(w);
		note(w, "sandgate.sandbox.start");
		assert_int_equal(sealer_sync(&w->sealer, SYNC_MS), 0);
		refuse(w, REASON_NOT_IN_POLICY, 100);
		end_of_run(w);
		verify(w);
		assert_exact(w, REASON_NOT_IN_POLICY, run * 100);
		close_world(w);
		open_world(w);
	}
	/*
	 * A minute has not passed: three runs have written no more than one would, and a flush
	 * each.
	 */
	start(w);
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

	start(w);
	note(w, "sandgate.sandbox.start");
	refuse(w, REASON_NOT_IN_POLICY, 7);
	end_of_run(w);
	close_world(w);
	snprintf(ring, sizeof(ring), "%s/ring", w->path);
	assert_int_equal(unlink(ring), 0);
	open_world(w);
	start(w);
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

	start(w);
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

	start(w);
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
		start(w);
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
		start(w);
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

	close_world(w);
	mount_small(w);
	open_world(w);
	start(w);
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
	close_world(w);
	/* A sealer that has said its last word may still be on its way out. */
	assert_int_equal(umount2(w->path, MNT_DETACH), 0);
	open_world(w);
}

/* --- what it is confined to --- */

static int status_of(pid_t pid, const char *key, char *out, size_t n)
{
	char path[64], line[256];
	FILE *f;
	int found = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && found && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
			snprintf(out, n, "%s", line + strlen(key) + 2);
			out[strcspn(out, "\n")] = 0;
			found = 0;
		}
	if (f)
		fclose(f);
	return found;
}

static void assert_status(pid_t pid, const char *key, const char *wanted)
{
	char text[64];

	assert_int_equal(status_of(pid, key, text, sizeof(text)), 0);
	assert_string_equal(text, wanted);
}

/* Neither the person's files nor their sockets: of paths, /dev/null and what lies in the folder. */
static void assert_descriptors(const struct world *w)
{
	char folder[64], target[256];
	const struct dirent *entry;
	DIR *d;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", w->sealer.pid);
	d = opendir(folder);
	assert_non_null(d);
	while ((entry = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = 0;
		if (target[0] == '/' && strcmp(target, "/dev/null") != 0)
			assert_memory_equal(target, w->path, strlen(w->path));
	}
	closedir(d);
}

static void it_has_no_privilege_left(void **state)
{
	struct world *w = *state;

	start(w);
	assert_status(w->sealer.pid, "NoNewPrivs", "1");
	assert_status(w->sealer.pid, "Seccomp", "2");
	assert_status(w->sealer.pid, "CapEff", "0000000000000000");
	assert_status(w->sealer.pid, "CapPrm", "0000000000000000");
	assert_status(w->sealer.pid, "Name", "sandgate-sealer");
	assert_descriptors(w);
}

/* The key is written by the sealer, and readable by nobody else. */
static void its_key_is_its_own(void **state)
{
	struct world *w = *state;
	struct stat st;

	start(w);
	assert_int_equal(fstatat(w->folder, "audit/key", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

enum attempt {
	OPEN_OUTSIDE,
	OPEN_ABOVE,
	LINK_OUT,
	MAKE_SOCKET,
	MAKE_UNIX_SOCKET,
	EXECUTE,
	FORK,
	TRACE,
	SEND_SIGNAL,
	MOUNT,
	MAP_CODE,
	ATTEMPTS
};

/* How the child ends: by SIGSYS, or with the errno of the attempt as its status. */
static int try(enum attempt what)
{
	static char *const argv[] = {(char *)"true", NULL};

	errno = 0;
	switch (what) {
	case OPEN_OUTSIDE:
		return openat(AT_FDCWD, "/etc/passwd", O_RDONLY) < 0 ? errno : 0;
	case OPEN_ABOVE:
		return openat(SEALER_AUDIT, "../ring", O_RDWR) < 0 ? errno : 0;
	case LINK_OUT:
		return linkat(AT_FDCWD, "/etc/passwd", SEALER_AUDIT, "x", 0) < 0 ? errno : 0;
	case MAKE_SOCKET:
		return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
	case MAKE_UNIX_SOCKET:
		return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0;
	case EXECUTE:
		return execv("/bin/true", argv) < 0 ? errno : 0;
	case FORK:
		return fork() < 0 ? errno : 0;
	case TRACE:
		return (int)syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, getppid(), 0, 0) < 0 ? errno
											     : 0;
	case SEND_SIGNAL:
		return kill(getppid(), 0) < 0 ? errno : 0;
	case MOUNT:
		return mount("x", "/", "tmpfs", 0, NULL) < 0 ? errno : 0;
#ifndef __SANITIZE_ADDRESS__ /* whose runtime maps as it likes */
	case MAP_CODE:
		return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) == MAP_FAILED
			       ? errno
			       : 0;
#endif
	default:
		return EACCES;
	}
}

static void nothing_else_is_within_its_reach(void **state)
{
	struct world *w = *state;

	for (int what = 0; what < ATTEMPTS; what++) {
		pid_t self = getpid(), pid = fork();
		int status, pair[2];
		struct err e;

		if (pid == 0) {
			if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
			    sealer_confine(w->folder, pair[0], w->wake, self, &e))
				_exit(99);
			_exit(try((enum attempt)what));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFSIGNALED(status))
			assert_int_equal(WTERMSIG(status), SIGSYS);
		else if (WEXITSTATUS(status) != EACCES)
			fail_msg("attempt %d: status %d", what, WEXITSTATUS(status));
	}
}

#define WITH_WORLD(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(all_that_happens_is_sealed),
		WITH_WORLD(the_log_grows_by_its_rate_alone),
		WITH_WORLD(totals_go_on_after_a_stop),
		WITH_WORLD(a_ring_begun_anew_counts_on),
		WITH_WORLD(a_flood_is_not_kept_line_by_line),
		WITH_WORLD(nothing_is_lost_with_a_process),
		WITH_WORLD(the_end_of_the_supervisor_is_sealed),
		WITH_WORLD(nothing_is_lost_with_a_full_disk),
		WITH_WORLD(it_has_no_privilege_left),
		WITH_WORLD(its_key_is_its_own),
		WITH_WORLD(nothing_else_is_within_its_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
