/* SPDX-License-Identifier: Apache-2.0 */
/* log_notes: the entries that a supervisor itself writes into the audit log. */
#ifndef SG_SANDBOX_LOG_NOTES_H
#define SG_SANDBOX_LOG_NOTES_H

#include "sandbox/supervisor.h"

/* "sandgate.sandbox.start": who, with which policy, running what. */
void log_note_start(struct supervisor *s);

/* "sandgate.gate.restart": `how` the one before has ended. */
void log_note_gate_restart(struct supervisor *s, const struct err *how);

/* "sandgate.broker.restart", likewise. */
void log_note_broker_restart(struct supervisor *s, const struct err *how);

/* "sandgate.credential.failed": no secret could be had for it; by its place, and why. */
void log_note_credential_failure(struct supervisor *s, const char *credential,
				 const struct err *why);

/* "sandgate.sandbox.stop", for log_link_close(); NULL when the sandbox never started. */
json_t *log_note_stop(const struct supervisor *s);

#endif
