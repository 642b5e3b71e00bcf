/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log_notes.h"

#include <stdlib.h>

#include "sandbox/change_entry.h"
#include "sandbox/person.h"
#include "sandbox/who.h"

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

static void note_restart(struct supervisor *s, const char *action, const struct err *how)
{
	json_t *entry = entry_of(s, action);

	json_object_set_new(entry, "why", json_string(how->text));
	note(s, entry);
}

void log_note_gate_restart(struct supervisor *s, const struct err *how)
{
	note_restart(s, "sandgate.gate.restart", how);
}

void log_note_broker_restart(struct supervisor *s, const struct err *how)
{
	note_restart(s, "sandgate.broker.restart", how);
}

void log_note_credential_failure(struct supervisor *s, const char *credential,
				 const struct err *why)
{
	json_t *entry = entry_of(s, "sandgate.credential.failed");

	json_object_set_new(entry, "credential", json_string(credential));
	json_object_set_new(entry, "why", json_string(why->text));
	note(s, entry);
}

json_t *log_note_stop(const struct supervisor *s)
{
	json_t *entry = s->noted_start ? entry_of(s, "sandgate.sandbox.stop") : NULL;

	if (entry)
		json_object_set_new(entry, "exit_status", json_integer(s->status));
	return entry;
}
