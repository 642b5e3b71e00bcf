/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/log_notes.h"

#include <stdlib.h>

#include "sandbox/control/change_entry.h"
#include "sandbox/log/capture_answer.h"
#include "sandbox/person.h"
#include "sandbox/who.h"

static const char *const pcap_numbers[] = {"segments", "frames", "dropped", "undecided",
					   "verdicts_lost"};

static json_t *entry_of(const struct supervisor *s, const char *action)
{
	return json_pack("{s:s, s:s}", "action", action, "sandbox", s->dir.name);
}

/*
 * Refused only when thousands wait for a disk; that they do is told with the first that is written.
 */
static void note(struct supervisor *s, json_t *entry)
{
	(void)!sealer_note(&s->sealer, entry);
}

void log_note_start(struct supervisor *s)
{
	const char *command = s->options->argv[0];
	json_t *entry = entry_of(s, "sandgate.sandbox.start");

	json_object_set_new(entry, "who", who_json(person_uid()));
	json_object_set_new(entry, "engine", json_string(supervisor_engine(s)));
	json_object_set_new(entry, "version", json_string(SANDGATE_VERSION));
	/* Its arguments may hold what is nobody's business. */
	if (command)
		json_object_set_new(entry, "command", json_string(command));
	json_object_set_new(entry, "after", change_entry_policy(&s->live.policy));
	json_object_set_new(entry, "generation",
			    json_integer((json_int_t)ruleset_generation(s->live.rules)));
	note(s, entry);
	s->noted_start = true;
}

static void note_why(struct supervisor *s, const char *action, const struct err *how)
{
	json_t *entry = entry_of(s, action);

	json_object_set_new(entry, "why", json_string(how->text));
	note(s, entry);
}

void log_note_gate_restart(struct supervisor *s, const struct err *how)
{
	note_why(s, "sandgate.gate.restart", how);
}

void log_note_broker_restart(struct supervisor *s, const struct err *how)
{
	note_why(s, "sandgate.broker.restart", how);
}

void log_note_way_out(struct supervisor *s, const struct err *what)
{
	note_why(s, "sandgate.attach.way-out", what);
}

void log_note_credential_failure(struct supervisor *s, const char *credential,
				 const struct err *why)
{
	json_t *entry = entry_of(s, "sandgate.credential.failed");

	json_object_set_new(entry, "credential", json_string(credential));
	json_object_set_new(entry, "why", json_string(why->text));
	note(s, entry);
}

void log_note_pcap_start(struct supervisor *s)
{
	const struct capture_link *c = &s->capture;
	json_t *entry = entry_of(s, "sandgate.pcap.start");

	json_object_set_new(entry, "who", who_json(c->who));
	json_object_set_new(entry, "file", json_string(c->segments.now.path));
	json_object_set_new(entry, "max_mb", json_integer((json_int_t)c->max_mb));
	json_object_set_new(entry, "files", json_integer((json_int_t)c->files));
	json_object_set_new(entry, "keys", json_boolean(c->keys));
	note(s, entry);
}

void log_note_pcap_segment(struct supervisor *s, const struct capture_segment *g,
			   const char *sha256)
{
	json_t *entry = entry_of(s, "sandgate.pcap.segment");

	json_object_set_new(entry, "file", json_string(g->path));
	json_object_set_new(entry, "sha256", sha256 ? json_string(sha256) : json_null());
	json_object_set_new(entry, "frames", json_integer(g->frames));
	json_object_set_new(entry, "dropped", json_integer(g->dropped));
	json_object_set_new(entry, "octets", json_integer(g->octets));
	note(s, entry);
}

void log_note_pcap_stop(struct supervisor *s)
{
	const struct capture_link *c = &s->capture;
	json_t *entry = entry_of(s, "sandgate.pcap.stop"), *numbers = capture_answer_numbers(s);

	json_object_set_new(entry, "why", json_string(c->why));
	if (*c->more)
		json_object_set_new(entry, "more", json_string(c->more));
	for (size_t i = 0; i < sg_array_len(pcap_numbers); i++)
		json_object_set(entry, pcap_numbers[i], json_object_get(numbers, pcap_numbers[i]));
	json_decref(numbers);
	note(s, entry);
}

json_t *log_note_stop(const struct supervisor *s)
{
	json_t *entry = s->noted_start ? entry_of(s, "sandgate.sandbox.stop") : NULL;

	if (!entry)
		return NULL;
	json_object_set_new(entry, "exit_status", json_integer(s->status));
	if (*s->why.text)
		json_object_set_new(entry, "why", json_string(s->why.text));
	return entry;
}
