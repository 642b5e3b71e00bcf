/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One poll loop over the supervisor's socket and the ring's eventfd. What the ring has goes to the
 * connection log, and refusals to the ledger, which decides what becomes an entry of the audit log.
 * After records were taken the loop looks again BATCH_MS later without a wake-up, so a gate under load makes
 * no system call for them.
 *
 * Entries are made durable COMMIT_MS after the first of a group, or when there are COMMIT_ENTRIES; the
 * checkpoint is signed every SIGN_MS while there is something new. Then the supervisor is told how many of
 * its entries are sealed.
 *
 * A disk that is full: `stuck` is set, entries of the supervisor wait in `held`, refusals wait in the
 * ledger, lines of the connection log are dropped and counted. Every RETRY_MS it is tried again; the first entry that
 * finds room tells of it.
 *
 * The stages of isolation are confine.h's: the key is read after all of them.
 */
#include "audit/sealer_main.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/connection_log.h"
#include "audit/entry.h"
#include "audit/ledger.h"
#include "audit/log.h"
#include "audit/rate.h"
#include "confine/confine.h"

enum {
	BATCH_MS = 10,
	COMMIT_MS = 100,
	COMMIT_ENTRIES = 64,
	SIGN_MS = 1000,
	RETRY_MS = 1000,
	IDLE_MS = 5000,
	LAST_WORDS_MS = 20, /* from the supervisor's death to the gate's, which the kernel kills */
	TOTALS_EVERY = 512, /* entries; ledger_restore() looks back twice as far */
	RECORDS_AT_ONCE = 4096, /* then the supervisor has a turn */
	LOOK_BACK_NOTES = 512,
};

/* Descriptors after confine_detach(). */
enum { CONTROL = CONFINE_KEPT_FD, WAKE, AUDIT, CONNECTIONS, KEPT_END };
enum { KEPT = KEPT_END - CONFINE_KEPT_FD };

struct process {
	const struct sealer_setup *setup;
	pid_t parent;
	struct ring *ring;
	struct event_printer *printer;
	struct connection_log *connections;
	struct audit_log *log;
	struct ledger *ledger;

	size_t group;	  /* entries since the last commit */
	mono_t commit_at; /* of that group */
	mono_t signed_at;
	size_t since_totals; /* entries */

	json_t *held;	  /* entries of the supervisor that found no room */
	int stuck;	  /* the errno that the disk gave, or 0 */
	int64_t stuck_ms; /* since when, of the wall clock */
	mono_t retry_at;
	uint64_t taken, told; /* notes of the supervisor: in the log, and said to be sealed */

	uint64_t missed;  /* of the ring's totals, told to the connection log */
	uint64_t garbled; /* records that were none, not yet told of */
	mono_t garbled_at;
	bool busy, ending;
};

static int64_t wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- entries --- */

static void become_stuck(struct process *s, int rc)
{
	/* The entry itself cannot be written, whatever room there is. */
	if (rc == -EINVAL || rc == -EMSGSIZE)
		return;
	if (!s->stuck) {
		s->stuck = -rc;
		s->stuck_ms = wall_ms();
	}
	s->retry_at = mono_add_ms(mono_now(), RETRY_MS);
}

/* Consumes the entry. 0 or -errno: then it was not written. */
static int write_entry(struct process *s, json_t *entry)
{
	int rc = audit_log_append(s->log, entry);

	if (rc) {
		become_stuck(s, rc);
		return rc;
	}
	if (s->group++ == 0)
		s->commit_at = mono_add_ms(mono_now(), COMMIT_MS);
	s->since_totals++;
	return 0;
}

/* ledger_append_fn: while the disk is full, refusals wait without a try each. */
static int append_refusal(void *ctx, json_t *entry)
{
	struct process *s = ctx;

	if (!s->stuck)
		return write_entry(s, entry);
	json_decref(entry);
	return -s->stuck;
}

static void tell(const struct process *s, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	if (text && send(CONTROL, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		/* It does not read, or is gone; the next message says as much. */
		errno = 0;
	free(text);
	json_decref(message);
}

static void commit(struct process *s, bool sign)
{
	int rc = audit_log_commit(s->log, sign);

	if (rc) {
		become_stuck(s, rc);
		return;
	}
	s->group = 0;
	if (sign)
		s->signed_at = mono_now();
	if (s->told == s->taken)
		return;
	s->told = s->taken;
	tell(s, json_pack("{s:s, s:I}", "op", "sealed", "notes", (json_int_t)s->told));
}

static void write_totals(struct process *s)
{
	if (s->since_totals < TOTALS_EVERY || s->stuck)
		return;
	if (write_entry(s, json_pack("{s:s, s:s, s:o}", "sandbox", s->setup->sandbox, "action",
				     "sandgate.audit.totals", "totals",
				     ledger_totals(s->ledger))) == 0)
		s->since_totals = 0;
}

/* --- records --- */

static void take_record(struct process *s, const struct record *r, mono_t now)
{
	if (!record_valid(r)) {
		s->garbled++;
		connection_log_missed(s->connections, 1);
		return;
	}
	connection_log_put(s->connections, s->printer, r, now);
	if (r->kind == RECORD_DENY)
		ledger_take(s->ledger, r, now);
}

/* What a hostile gate writes has no bound but this, and gets no entry of its own each. */
static void tell_garbled(struct process *s, mono_t now)
{
	json_t *entry;

	if (!s->garbled || s->stuck || mono_before(now, s->garbled_at))
		return;
	entry = json_pack("{s:s, s:s, s:I, s:s}", "sandbox", s->setup->sandbox, "action",
			  "sandgate.audit.garbled", "records", (json_int_t)s->garbled, "why",
			  "the gate wrote records that are none");
	if (write_entry(s, entry))
		return;
	s->garbled = 0;
	s->garbled_at = mono_add_ms(now, RATE_MINUTE_MS);
}

static void settle(struct process *s, const struct record_totals *total)
{
	ledger_settle(s->ledger, total);
	if (total->missed > s->missed)
		connection_log_missed(s->connections, total->missed - s->missed);
	s->missed = total->missed;
}

static void drain(struct process *s)
{
	mono_t now = mono_now();
	struct record_totals total;
	struct record r;
	uint64_t put;
	bool settled = ring_read_settled(s->ring, &total, &put);
	size_t n = 0;

	while (n < RECORDS_AT_ONCE && !(settled && ring_taken(s->ring) == put) &&
	       ring_take(s->ring, &r)) {
		take_record(s, &r, now);
		n++;
	}
	if (settled && ring_taken(s->ring) == put)
		settle(s, &total);
	s->busy = n > 0;
	tell_garbled(s, now);
}

/* All of it, as far as a gate that may still live lets it come to an end. */
static void drain_all(struct process *s)
{
	size_t rounds = 0;

	do
		drain(s);
	while (s->busy && ++rounds < 16);
}

/* --- a disk that was full --- */

static int tell_recovered(struct process *s)
{
	char since[ENTRY_TIME + 1];

	entry_print_time(s->stuck_ms, since);
	return write_entry(s, json_pack("{s:s, s:s, s:s, s:s, s:I}", "sandbox", s->setup->sandbox,
					"action", "sandgate.audit.recovered", "why",
					strerror(s->stuck), "since", since, "held",
					(json_int_t)json_array_size(s->held)));
}

static int write_held(struct process *s)
{
	while (json_array_size(s->held)) {
		int rc = write_entry(s, json_deep_copy(json_array_get(s->held, 0)));

		if (rc)
			return rc;
		s->taken++;
		json_array_remove(s->held, 0);
	}
	return 0;
}

/* The commit first: what was appended before is older than what waits. */
static void retry(struct process *s)
{
	int rc = audit_log_commit(s->log, true);

	rc = rc ? rc : tell_recovered(s);
	if (rc) {
		become_stuck(s, rc);
		return;
	}
	s->stuck = 0;
	if (write_held(s) == 0 && ledger_flush(s->ledger, mono_now(), false) == 0)
		commit(s, true);
}

/* --- the supervisor's messages --- */

static bool is_milestone(const json_t *entry)
{
	const char *action = json_string_value(json_object_get(entry, "action"));

	return action && (strcmp(action, "sandgate.sandbox.start") == 0 ||
			  strcmp(action, "sandgate.sandbox.stop") == 0);
}

/* An earlier sealer may have written it, and died before it said so. */
struct search {
	const json_t *entry;
	const char *time;
	bool found;
};

static bool same_note(const json_t *note, json_t *written)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)note, key, value)
	{
		if (strcmp(key, "time") != 0 && !json_equal(value, json_object_get(written, key)))
			return false;
	}
	return true;
}

static bool compare_entry(void *ctx, uint64_t seq, struct span line)
{
	struct search *f = ctx;
	struct entry en;
	struct err e;

	if (entry_parse(line, &en, &e))
		return true;
	if (strcmp(en.time, f->time) >= 0 && same_note(f->entry, en.value))
		f->found = true;
	entry_free(&en);
	return !f->found;
}

static bool was_written(const struct process *s, const json_t *entry)
{
	uint64_t size = audit_log_size(s->log);
	struct search f = {.entry = entry,
			   .time = json_string_value(json_object_get(entry, "time"))};
	struct err e;

	return f.time &&
	       audit_each(AUDIT, size > LOOK_BACK_NOTES ? size - LOOK_BACK_NOTES : 0, compare_entry,
			  &f, &e) == 0 &&
	       f.found;
}

/* Consumes it. One that is too long leaves what it was and when. */
static void write_note(struct process *s, json_t *entry)
{
	int rc = s->stuck ? -s->stuck : write_entry(s, json_incref(entry));

	if (rc == -EMSGSIZE || rc == -EINVAL)
		rc = write_entry(s, json_pack("{s:O?, s:O?, s:s}", "action",
					      json_object_get(entry, "action"), "time",
					      json_object_get(entry, "time"), "why",
					      "the entry was too long to be kept"));
	if (rc)
		json_array_append(s->held, entry);
	else
		s->taken++;
	json_decref(entry);
}

static void take_note(struct process *s, const json_t *message)
{
	json_t *entry = json_deep_copy(json_object_get(message, "entry"));

	if (json_is_true(json_object_get(message, "again")) && was_written(s, entry)) {
		json_decref(entry);
		s->taken++;
		return;
	}
	/* A sandbox that begins or ends has nothing that waits. */
	if (is_milestone(entry)) {
		drain_all(s);
		if (!s->stuck && ledger_flush(s->ledger, mono_now(), true) == 0)
			json_object_set_new(entry, "totals", ledger_totals(s->ledger));
	}
	write_note(s, entry);
}

static char **words_of(const json_t *list)
{
	size_t n = json_array_size(list);
	char **words = calloc(n + 1, sizeof(*words));

	for (size_t i = 0; words && i < n; i++) {
		const char *word = json_string_value(json_array_get(list, i));

		words[i] = strdup(word ? word : "");
		if (!words[i])
			break;
	}
	return words;
}

static void take_on(struct process *s, const json_t *message)
{
	event_printer_set_on(s->printer, words_of(json_object_get(message, "on")));
}

static void seal_all(struct process *s)
{
	drain_all(s);
	if (s->stuck)
		retry(s);
	if (!s->stuck)
		commit(s, true);
	connection_log_flush(s->connections);
}

static void take_sync(struct process *s, const json_t *message)
{
	seal_all(s);
	tell(s, json_pack("{s:s, s:b}", "op", "sync", "ok", !s->stuck));
}

static void take_stop(struct process *s, const json_t *message)
{
	drain_all(s);
	if (!s->stuck)
		(void)!ledger_flush(s->ledger, mono_now(), true);
	seal_all(s);
	s->ending = true;
}

static const struct {
	const char *op;
	void (*take)(struct process *s, const json_t *message);
} requests[] = {
	{"note", take_note},
	{"on", take_on},
	{"sync", take_sync},
	{"stop", take_stop},
};

static void take_message(struct process *s, const char *text, size_t n)
{
	json_t *message = json_loadb(text, n, 0, NULL);
	const char *op = json_string_value(json_object_get(message, "op"));

	for (size_t i = 0; op && i < sg_array_len(requests); i++)
		if (strcmp(requests[i].op, op) == 0)
			requests[i].take(s, message);
	json_decref(message);
}

/*
 * The supervisor was killed. The kernel kills the gate for that, which may put a last record until
 * then.
 */
static void supervisor_is_gone(struct process *s)
{
	json_t *entry = json_pack("{s:s, s:s, s:s}", "sandbox", s->setup->sandbox, "action",
				  "sandgate.sandbox.stop", "why", "the supervisor was killed");
	json_t *message = json_pack("{s:o}", "entry", entry);

	poll(NULL, 0, LAST_WORDS_MS);
	take_note(s, message);
	json_decref(message);
	seal_all(s);
	s->ending = true;
}

static void hear(struct process *s)
{
	static char text[SEALER_MESSAGE_MAX];
	ssize_t n = 1;

	while (!s->ending && n > 0) {
		n = recv(CONTROL, text, sizeof(text), MSG_DONTWAIT);
		if (n > 0)
			take_message(s, text, (size_t)n);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		supervisor_is_gone(s);
}

/* --- the loop --- */

static bool is_due(mono_t at, mono_t now)
{
	return !mono_before(now, at);
}

static void do_what_is_due(struct process *s)
{
	mono_t now = mono_now(), at;

	if (connection_log_deadline(s->connections, &at) && is_due(at, now))
		connection_log_flush(s->connections);
	if (s->stuck) {
		if (is_due(s->retry_at, now))
			retry(s);
		return;
	}
	/* What cannot be written now has made it stuck. */
	if (ledger_deadline(s->ledger, &at) && is_due(at, now))
		(void)!ledger_flush(s->ledger, now, false);
	write_totals(s);
	if (audit_log_dirty(s->log) && is_due(mono_add_ms(s->signed_at, SIGN_MS), now))
		commit(s, true);
	else if (s->group >= COMMIT_ENTRIES || (s->group && is_due(s->commit_at, now)))
		commit(s, false);
}

static void sooner(mono_t *at, mono_t other)
{
	if (mono_before(other, *at))
		*at = other;
}

static int timeout_ms(struct process *s)
{
	mono_t now = mono_now(), at = mono_add_ms(now, s->busy ? BATCH_MS : IDLE_MS), other;
	int64_t ms;

	if (!s->busy && !ring_may_sleep(s->ring))
		return 0;
	if (connection_log_deadline(s->connections, &other))
		sooner(&at, other);
	if (s->stuck)
		sooner(&at, s->retry_at);
	else if (ledger_deadline(s->ledger, &other))
		sooner(&at, other);
	if (!s->stuck && s->group)
		sooner(&at, s->commit_at);
	if (!s->stuck && audit_log_dirty(s->log))
		sooner(&at, mono_add_ms(s->signed_at, SIGN_MS));
	ms = mono_ms_until(now, at);
	return ms > 0 ? (int)ms : 0;
}

static void clear_wake(void)
{
	uint64_t n;

	if (read(WAKE, &n, sizeof(n)) < 0)
		errno = 0;
}

static void run(struct process *s)
{
	struct pollfd fds[] = {{.fd = CONTROL, .events = POLLIN}, {.fd = WAKE, .events = POLLIN}};

	while (!s->ending) {
		if (poll(fds, sg_array_len(fds), timeout_ms(s)) < 0 && errno != EINTR)
			return;
		if (fds[1].revents)
			clear_wake();
		drain(s);
		if (fds[0].revents)
			hear(s);
		else if (getppid() != s->parent)
			supervisor_is_gone(s);
		if (!s->ending)
			do_what_is_due(s);
	}
}

/* --- the start --- */

static int open_folder(int at, const char *name)
{
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * poll, messages, time, memory; disk.c and connection_log.c; mmap without PROT_EXEC. openat, rename
 * and unlink reach what Landlock leaves: the two folders.
 */
static int confine_to_calls(struct err *e)
{
	static const struct confine_call calls[] = {
		{SCMP_SYS(poll), CONFINE_ANY, 0},
		{SCMP_SYS(ppoll), CONFINE_ANY, 0},
		{SCMP_SYS(recvfrom), 0, CONTROL},
		{SCMP_SYS(sendto), 0, CONTROL},
		{SCMP_SYS(read), CONFINE_ANY, 0},
		{SCMP_SYS(write), CONFINE_ANY, 0},
		{SCMP_SYS(pread64), CONFINE_ANY, 0},
		{SCMP_SYS(pwrite64), CONFINE_ANY, 0},
		{SCMP_SYS(openat), CONFINE_ANY, 0},
		{SCMP_SYS(close), CONFINE_ANY, 0},
		{SCMP_SYS(fstat), CONFINE_ANY, 0},
		{SCMP_SYS(newfstatat), CONFINE_ANY, 0},
		{SCMP_SYS(statx), CONFINE_ANY, 0},
		{SCMP_SYS(lseek), CONFINE_ANY, 0},
		{SCMP_SYS(getdents64), CONFINE_ANY, 0},
		{SCMP_SYS(fsync), CONFINE_ANY, 0},
		{SCMP_SYS(fdatasync), CONFINE_ANY, 0},
		{SCMP_SYS(ftruncate), CONFINE_ANY, 0},
		{SCMP_SYS(fallocate), CONFINE_ANY, 0},
		{SCMP_SYS(renameat), CONFINE_ANY, 0},
		{SCMP_SYS(renameat2), CONFINE_ANY, 0},
		{SCMP_SYS(linkat), CONFINE_ANY, 0},
		{SCMP_SYS(unlinkat), CONFINE_ANY, 0},
		{SCMP_SYS(fchmod), CONFINE_ANY, 0},
		{SCMP_SYS(flock), CONFINE_ANY, 0},
		{SCMP_SYS(fcntl), 1, F_GETFD},
		{SCMP_SYS(fcntl), 1, F_SETFD},
		{SCMP_SYS(fcntl), 1, F_GETFL},
		{SCMP_SYS(fcntl), 1, F_DUPFD_CLOEXEC},
		{SCMP_SYS(fcntl), 1, F_SETLK},
		{SCMP_SYS(fcntl), 1, F_OFD_SETLK},
		{SCMP_SYS(clock_gettime), CONFINE_ANY, 0},
		{SCMP_SYS(clock_nanosleep), CONFINE_ANY, 0},
		{SCMP_SYS(brk), CONFINE_ANY, 0},
		{SCMP_SYS(mmap), 2, PROT_READ},
		{SCMP_SYS(mmap), 2, PROT_READ | PROT_WRITE},
		{SCMP_SYS(mmap), 2, PROT_NONE},
		{SCMP_SYS(munmap), CONFINE_ANY, 0},
		{SCMP_SYS(mremap), CONFINE_ANY, 0},
		{SCMP_SYS(madvise), CONFINE_ANY, 0},
		{SCMP_SYS(mprotect), 2, PROT_READ | PROT_WRITE},
		{SCMP_SYS(getrandom), CONFINE_ANY, 0},
		{SCMP_SYS(futex), CONFINE_ANY, 0},
		{SCMP_SYS(getpid), CONFINE_ANY, 0},
		{SCMP_SYS(getppid), CONFINE_ANY, 0},
		{SCMP_SYS(exit), CONFINE_ANY, 0},
	};

	return confine_calls(calls, sg_array_len(calls), e);
}

/* What has to be made outside of the confinement: the mapping, the folders. */
static int confine_self(struct process *s, int control, struct err *e)
{
	const int folders[] = {AUDIT, CONNECTIONS};
	const struct confine_files files = {.folders = folders, .n_folders = 2};
	int keep[KEPT] = {control, s->setup->wake};

	s->ring = ring_map(s->setup->ring, e);
	if (!s->ring)
		return -1;
	umask(077);
	keep[AUDIT - CONTROL] = open_folder(s->setup->folder, "audit");
	keep[CONNECTIONS - CONTROL] = open_folder(s->setup->folder, "connections");
	if (keep[AUDIT - CONTROL] < 0 || keep[CONNECTIONS - CONTROL] < 0)
		return err_set(e, "the folder of the logs: %s", err_why(errno));
	if (confine_detach("sandgate-sealer", s->parent, keep, KEPT, e))
		return -1;
	/* It ends by itself when the supervisor has, and not before the logs are sealed. */
	if (prctl(PR_SET_PDEATHSIG, 0) < 0)
		return err_set(e, "prctl: %s", strerror(errno));
	if (confine_privileges(false, e) || confine_files(&files, e))
		return -1;
	return confine_to_calls(e);
}

void sealer_origin(const char *sandbox, char out[SEALER_ORIGIN_MAX])
{
	char host[HOST_NAME_MAX + 1];

	if (gethostname(host, sizeof(host)) < 0 || !*host)
		snprintf(host, sizeof(host), "host");
	snprintf(out, SEALER_ORIGIN_MAX, "sandgate/%s/%s", host, sandbox);
}

static int open_logs(struct process *s, const char *origin, struct err *e)
{
	const struct audit_log_options options = {
		.origin = origin,
		.keep_segments = s->setup->keep_segments,
		.fleeting = !s->setup->lasting,
	};
	uint64_t refused[REASONS];

	/* A configuration of OpenSSL's would be one of the files that are out of reach. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	s->connections = connection_log_open(CONNECTIONS, s->setup->connections_bytes, e);
	s->log = s->connections ? audit_log_open(AUDIT, &options, e) : NULL;
	if (!s->log || ledger_restore(s->ledger, AUDIT, audit_log_size(s->log), e))
		return -1;
	ledger_read_accounted(s->ledger, refused);
	if (s->setup->alone)
		ring_raise(s->ring, refused);
	return 0;
}

static int make(struct process *s, int control, struct err *e)
{
	char origin[SEALER_ORIGIN_MAX];
	struct record_totals total;

	sealer_origin(s->setup->sandbox, origin);
	s->held = json_array();
	s->printer = event_printer_new(s->setup->sandbox, s->setup->catalogue);
	s->ledger =
		s->printer ? ledger_new(s->setup->sandbox, s->printer, append_refusal, s) : NULL;
	if (!s->ledger || !s->held)
		return err_set(e, "%s", err_why(ENOMEM));
	if (confine_self(s, control, e) || open_logs(s, origin, e))
		return -1;
	ring_read_totals(s->ring, &total);
	s->missed = total.missed;
	return 0;
}

int sealer_main(const struct sealer_setup *setup, int control, pid_t parent)
{
	struct process s = {.setup = setup, .parent = parent};
	struct err e;

	if (make(&s, control, &e)) {
		char *text = json_dumps(json_pack("{s:s, s:s}", "op", "failed", "why", e.text), 0);

		/* CONTROL is not made yet when it failed early. */
		if (text && send(control, text, strlen(text), MSG_NOSIGNAL) < 0 &&
		    send(CONTROL, text, strlen(text), MSG_NOSIGNAL) < 0)
			return EXIT_FAILURE;
		return EXIT_FAILURE;
	}
	tell(&s, json_pack("{s:s}", "op", "ready"));
	run(&s);
	connection_log_close(s.connections);
	audit_log_close(s.log);
	tell(&s, json_pack("{s:s}", "op", "stop"));
	return EXIT_SUCCESS;
}
