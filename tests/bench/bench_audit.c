/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_audit: what a sealer keeps up with, one JSON object a line.
 *
 *     bench_audit [REPEATS]
 *
 * Refusals are put into the ring at a fixed rate, as a gate would, while a sealer writes both logs:
 * how many the audit log accounts for at the end, what a put costs the gate, what the sealer takes
 * of a CPU, and by how much the audit log has grown. Then, how long an entry waits for its
 * signature, and an event for who follows the connection log. Each number is the median of REPEATS
 * (5) runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/connection_reader.h"
#include "audit/entry.h"
#include "audit/log.h"
#include "audit/sealer.h"
#include "base/clock.h"

enum { REPEATS_MAX = 99, SECONDS = 2, STEP_MS = 2, SYNC_MS = 30000, NOTES = 20, NOTE_MS = 137 };

struct world {
	char path[64];
	int folder, ring_file, wake;
	struct ring *ring;
	struct sealer sealer;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void begin(struct world *w)
{
	struct err e;

	snprintf(w->path, sizeof(w->path), "/tmp/sandgate-bench.XXXXXX");
	if (!mkdtemp(w->path))
		die(1, "%s", err_why(ENOMEM));
	w->folder = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->ring_file = openat(w->folder, "ring", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->ring = ring_map(w->ring_file, &e);
	w->sealer = SEALER_NONE;
	if (!w->ring ||
	    sealer_start(&w->sealer,
			 &(struct sealer_setup){.sandbox = "bench",
						.folder = w->folder,
						.ring = w->ring_file,
						.broker_ring = -1,
						.wake = w->wake,
						.lasting = true,
						.alone = true},
			 &e) ||
	    sealer_await_ready(&w->sealer, &e))
		die(1, "%s", e.text);
}

static void end(struct world *w)
{
	char command[128];

	sealer_stop(&w->sealer, SYNC_MS);
	ring_unmap(w->ring);
	close(w->ring_file);
	close(w->wake);
	close(w->folder);
	snprintf(command, sizeof(command), "rm -rf %s", w->path);
	if (system(command) != 0)
		die(1, "%s: cannot be removed", w->path);
}

/* --- refusals --- */

struct flood {
	double counted; /* of those put, what the log accounts for; 1: all */
	double put_ns, sealer_percent, log_kib;
};

/* Seconds of a CPU that a process had, to the nanosecond: what it does is shorter than a tick. */
static double cpu_of(pid_t pid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu", &ns) != 1)
		die(1, "%s: cannot be read", path);
	fclose(f);
	return (double)ns / 1e9;
}

static int64_t put_some(struct world *w, unsigned n)
{
	struct record r = {.kind = RECORD_DENY,
			   .proto = RECORD_TCP,
			   .reason = REASON_NOT_IN_POLICY,
			   .has_name = true,
			   .port = 443,
			   .time_ms = time(NULL) * 1000};
	mono_t begun = mono_now();

	if (name_parse_ascii("refused.example.com", 19, &r.name) != NAME_OK)
		die(1, "no name");
	for (unsigned i = 0; i < n; i++)
		ring_put(w->ring, w->wake, &r);
	return mono_now().ns - begun.ns;
}

static bool read_total(void *ctx, uint64_t seq, struct span line)
{
	struct entry en;
	struct err e;

	if (entry_parse(line, &en, &e) == 0) {
		const json_t *totals = json_object_get(en.value, "totals");

		if (totals)
			*(json_int_t *)ctx =
				json_integer_value(json_object_get(totals, "not-in-policy"));
		entry_free(&en);
	}
	return true;
}

static void read_log(const struct world *w, struct flood *f, double put)
{
	int dir = openat(w->folder, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_int_t total = 0;
	struct stat st;
	struct err e;

	if (audit_each(dir, 0, read_total, &total, &e) ||
	    fstatat(dir, "00000000000000000000.jsonl", &st, 0))
		die(1, "%s", e.text);
	close(dir);
	f->counted = (double)total / put;
	f->log_kib = (double)st.st_size / 1024;
}

static struct flood flood(unsigned rate)
{
	unsigned steps = SECONDS * 1000 / STEP_MS, each = rate * STEP_MS / 1000;
	struct flood f = {0};
	struct world w;
	int64_t ns = 0;
	mono_t next;
	double cpu;

	begin(&w);
	next = mono_now();
	cpu = cpu_of(w.sealer.pid);
	for (unsigned i = 0; i < steps; i++) {
		int64_t left;

		ns += put_some(&w, each);
		next = mono_add_ms(next, STEP_MS);
		left = mono_ms_until(mono_now(), next);
		if (left > 0)
			poll(NULL, 0, (int)left);
	}
	f.put_ns = (double)ns / (double)(steps * each);
	f.sealer_percent = 100 * (cpu_of(w.sealer.pid) - cpu) / SECONDS;
	if (sealer_note(&w.sealer, json_pack("{s:s}", "action", "sandgate.sandbox.stop")) ||
	    sealer_sync(&w.sealer, SYNC_MS))
		die(1, "the sealer does not answer");
	read_log(&w, &f, steps * each);
	end(&w);
	return f;
}

static void print(const char *what, const char *unit, double value, const char *sign, double goal)
{
	printf("{\"what\": \"%s\", \"unit\": \"%s\", \"value\": %.4f, \"sign\": \"%s\", \"goal\": %g}\n",
	       what, unit, value, sign, goal);
	fflush(stdout);
}

static void measure_flood(unsigned rate, const char *words, unsigned repeats)
{
	double v[4][REPEATS_MAX];
	char what[128];

	for (unsigned i = 0; i < repeats; i++) {
		struct flood f = flood(rate);

		v[0][i] = f.counted;
		v[1][i] = f.put_ns;
		v[2][i] = f.sealer_percent;
		v[3][i] = f.log_kib;
	}
	snprintf(what, sizeof(what), "%s refusals a second, counted of those made", words);
	print(what, "", median(v[0], repeats), ">=", 1);
	snprintf(what, sizeof(what), "%s refusals a second, a put in the gate", words);
	print(what, "ns", median(v[1], repeats), "<=", 500);
	snprintf(what, sizeof(what), "%s refusals a second, sealer of a CPU", words);
	print(what, "%", median(v[2], repeats), "<=", 25);
	snprintf(what, sizeof(what), "%s refusals a second, growth of the log", words);
	print(what, "KiB", median(v[3], repeats), "<=", 16);
}

/* --- an entry --- */

/* Signed is what the log's last checkpoint covers. */
static void await_signature(struct world *w, const char *before)
{
	int dir = openat(w->folder, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e;

	for (;;) {
		char *now = audit_log_checkpoint(dir, &e);
		bool newer = now && strcmp(now, before) != 0;

		sealer_hear(&w->sealer);
		free(now);
		if (newer && json_array_size(w->sealer.notes) == 0)
			break;
		poll(NULL, 0, 1);
	}
	close(dir);
}

static double sealed_ms(struct world *w)
{
	int dir = openat(w->folder, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e;
	char *before = audit_log_checkpoint(dir, &e);
	mono_t begun = mono_now();

	if (sealer_note(&w->sealer, json_pack("{s:s}", "action", "sandgate.bench")))
		die(1, "a note was refused");
	await_signature(w, before ? before : "");
	free(before);
	close(dir);
	return (double)(mono_now().ns - begun.ns) / 1e6;
}

static void measure_entry(void)
{
	double ms[NOTES];
	struct world w;

	begin(&w);
	for (unsigned i = 0; i < NOTES; i++) {
		ms[i] = sealed_ms(&w);
		poll(NULL, 0, NOTE_MS);
	}
	end(&w);
	qsort(ms, NOTES, sizeof(*ms), by_value);
	print("an entry signed, at most", "ms", ms[NOTES - 1], "<=", 1000);
	print("an entry signed, p50", "ms", ms[NOTES / 2], "<=", 1000);
}

/* --- an event --- */

/* From the gate's put to the line in the hands of a reader that the kernel wakes, as `net log
 * --follow` is. */
static double seen_ms(struct world *w, struct connection_reader *r, int news)
{
	struct pollfd f = {.fd = news, .events = POLLIN};
	mono_t begun = mono_now();
	struct span line;
	char room[4096];

	put_some(w, 1);
	while (connection_reader_next(r, &line) == 0)
		if (poll(&f, 1, SYNC_MS) == 1 && read(news, room, sizeof(room)) < 0)
			die(1, "inotify: %s", strerror(errno));
	return (double)(mono_now().ns - begun.ns) / 1e6;
}

static void measure_event(void)
{
	int news = inotify_init1(IN_CLOEXEC);
	struct connection_reader r;
	double ms[NOTES];
	char path[96];
	struct world w;
	int dir;

	begin(&w);
	snprintf(path, sizeof(path), "%s/connections", w.path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (inotify_add_watch(news, path, IN_MODIFY | IN_CREATE) < 0 ||
	    connection_reader_open(&r, dir, NULL))
		die(1, "%s: cannot be followed", path);
	for (unsigned i = 0; i < NOTES; i++) {
		ms[i] = seen_ms(&w, &r, news);
		poll(NULL, 0, NOTE_MS);
	}
	connection_reader_close(&r);
	close(dir);
	close(news);
	end(&w);
	qsort(ms, NOTES, sizeof(*ms), by_value);
	print("an event seen by who follows the log, at most", "ms", ms[NOTES - 1], "<=", 200);
}

int main(int argc, char **argv)
{
	unsigned repeats = argc > 1 ? (unsigned)atoi(argv[1]) : 5;

	if (repeats < 1 || repeats > REPEATS_MAX)
		die(2, "between 1 and %d repeats", REPEATS_MAX);
	measure_flood(10000, "10,000", repeats);
	measure_flood(100000, "100,000", repeats);
	measure_entry();
	measure_event();
	return 0;
}
