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
/* Another way out has appeared beside the gate, and what became of it. */
void log_note_way_out(struct supervisor *s, const struct err *what);
void log_note_credential_failure(struct supervisor *s, const char *credential,
				 const struct err *why);

/*
 * "sandgate.pcap.start", ".segment" (NULL: its hash could not be made) and ".stop": where the frames
 * of a capture are, and that nobody has changed them since.
 */
void log_note_pcap_start(struct supervisor *s);
void log_note_pcap_segment(struct supervisor *s, const struct capture_segment *g,
			   const char *sha256);
void log_note_pcap_stop(struct supervisor *s);

/* "sandgate.sandbox.stop", for log_link_close(); NULL when the sandbox never started. */
json_t *log_note_stop(const struct supervisor *s);

#endif
