/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "audit/entry.h"
#include "audit/sealer_process.h"
#include "io/passed_fd.h"

enum {
	LOOK_BACK_NOTES = 2048, /* entries: more than can be written before a note is sealed */
	LAST_WORDS_MS = 20, /* from the supervisor's death to the gate's, which the kernel kills */
};

void sealer_tell(json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	if (text && send(SEALER_CONTROL, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		/* It does not read, or is gone; the next message says as much. */
		errno = 0;
	free(text);
	json_decref(message);
}

/* --- notes --- */

static bool is_milestone(const json_t *entry)
{
	const char *action = json_string_value(json_object_get(entry, "action"));

	return action && (strcmp(action, "sandgate.sandbox.start") == 0 ||
			  strcmp(action, "sandgate.sandbox.stop") == 0);
}

/* An earlier sealer may have written it, and died before it said so. */
struct search {
	json_int_t note;
	bool found;
};

static bool compare_entry(void *ctx, uint64_t seq, struct span line)
{
	struct search *f = ctx;
	struct entry en;
	struct err e;

	if (entry_parse(line, &en, &e))
		return true;
	f->found = json_integer_value(json_object_get(en.value, "note")) == f->note;
	entry_free(&en);
	return !f->found;
}

static bool was_written(const struct process *s, const json_t *entry)
{
	uint64_t size = audit_log_size(s->log);
	struct search f = {.note = json_integer_value(json_object_get(entry, "note"))};
	struct err e;

	return audit_each(SEALER_AUDIT, size > LOOK_BACK_NOTES ? size - LOOK_BACK_NOTES : 0,
			  compare_entry, &f, &e) == 0 &&
	       f.found;
}

/* Consumes it. One that is too long leaves what it was and when. */
static void write_note(struct process *s, json_t *entry)
{
	int rc = s->stuck ? -s->stuck : sealer_write_entry(s, json_incref(entry));

	if (rc == -EMSGSIZE || rc == -EINVAL)
		rc = sealer_write_entry(s, json_pack("{s:O?, s:O?, s:O?, s:s}", "note",
						     json_object_get(entry, "note"), "action",
						     json_object_get(entry, "action"), "time",
						     json_object_get(entry, "time"), "why",
						     "the entry was too long to be kept"));
	if (rc)
		json_array_append(s->held, entry);
	else
		s->taken++;
	json_decref(entry);
}

static void take_note(struct process *s, const json_t *message, int passed)
{
	json_t *entry = json_deep_copy(json_object_get(message, "entry"));

	if (json_is_true(json_object_get(message, "again")) && was_written(s, entry)) {
		json_decref(entry);
		s->taken++;
		return;
	}
	/* A sandbox that begins or ends has nothing that waits. */
	if (is_milestone(entry)) {
		sealer_drain_all(s);
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

static void take_on(struct process *s, const json_t *message, int passed)
{
	event_printer_set_on(s->printer, words_of(json_object_get(message, "on")));
}

/* A file that is none, which only a broken supervisor sends, leaves the broker's events unread. */
static void take_ring(struct process *s, const json_t *message, int passed)
{
	struct err e;

	if (s->source[SOURCE_BROKER].ring || passed < 0 ||
	    sealer_map_ring(s, SOURCE_BROKER, passed, &e))
		return;
	s->busy = true;
}

static void seal_all(struct process *s)
{
	sealer_drain_all(s);
	if (s->stuck)
		sealer_retry(s);
	if (!s->stuck)
		sealer_commit(s, true);
	connection_log_flush(s->connections);
}

static void take_sync(struct process *s, const json_t *message, int passed)
{
	seal_all(s);
	sealer_tell(json_pack("{s:s, s:b}", "op", "sync", "ok", !s->stuck));
}

static void take_stop(struct process *s, const json_t *message, int passed)
{
	sealer_drain_all(s);
	if (!s->stuck)
		(void)!ledger_flush(s->ledger, mono_now(), true);
	seal_all(s);
	s->ending = true;
}

static const struct {
	const char *op;
	void (*take)(struct process *s, const json_t *message, int passed);
} requests[] = {
	{"note", take_note}, {"on", take_on},	  {"ring", take_ring},
	{"sync", take_sync}, {"stop", take_stop},
};

static void take_message(struct process *s, const char *text, size_t n, int passed)
{
	json_t *message = json_loadb(text, n, 0, NULL);
	const char *op = json_string_value(json_object_get(message, "op"));

	for (size_t i = 0; op && i < sg_array_len(requests); i++)
		if (strcmp(requests[i].op, op) == 0)
			requests[i].take(s, message, passed);
	json_decref(message);
}

/*
 * The supervisor was killed. The kernel kills the gate for that, which may put a last record until
 * then.
 */
void sealer_supervisor_is_gone(struct process *s)
{
	json_t *entry = json_pack("{s:s, s:s, s:s}", "sandbox", s->setup->sandbox, "action",
				  "sandgate.sandbox.stop", "why", "the supervisor was killed");
	json_t *message = json_pack("{s:o}", "entry", entry);

	poll(NULL, 0, LAST_WORDS_MS);
	take_note(s, message, -1);
	json_decref(message);
	seal_all(s);
	s->ending = true;
}

void sealer_hear_supervisor(struct process *s)
{
	static char text[SEALER_MESSAGE_MAX];
	int passed = -1;
	ssize_t n = 1;

	while (!s->ending && n > 0) {
		n = passed_fd_receive(SEALER_CONTROL, text, sizeof(text), &passed);
		if (n > 0)
			take_message(s, text, (size_t)n, passed);
		if (passed >= 0)
			close(passed);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		sealer_supervisor_is_gone(s);
}
