/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealer: the one process that writes a sandbox's logs and holds the key that signs them.
 *
 * It takes fixed records from the gate's ring and entries from the supervisor, has no network, no file but
 * the folder of the logs, and parses nothing that the sandbox sent.
 */
#ifndef SG_AUDIT_SEALER_H
#define SG_AUDIT_SEALER_H

#include <jansson.h>

#include "audit/record.h"
#include "policy/permission.h"

struct sealer_setup {
	const char *sandbox;
	int folder; /* the sandbox's folder of state: "audit/", "connections/", "ring" are made in it */
	int ring;			   /* the file behind the ring */
	int wake;			   /* eventfd */
	const struct catalogue *catalogue; /* for remedies */
	char *const *on;		   /* permissions that are on at the start; NULL: none */
	bool lasting; /* false: the logs are taken away with the sandbox, so nothing waits for the disk */
};

struct sealer {
	pid_t pid; /* 0: none */
	int pidfd; /* readable when it has ended */
	int control;
};

/* Forks it and waits until it is isolated and the logs are open. 0 or -1 with the message. */
int sealer_start(struct sealer *s, const struct sealer_setup *setup, struct err *e) sg_must_check;

/*
 * One entry for the audit log, from the supervisor: {"action": ..., ...}, consumed. Does not wait. 0 or -errno.
 */
int sealer_note(struct sealer *s, json_t *entry) sg_must_check;

/* Waits until all that came before is sealed and signed. 0 or -errno (ETIMEDOUT after `ms`). */
int sealer_sync(struct sealer *s, int ms) sg_must_check;

/* Takes what is in the ring, seals, signs, ends. Waits for it up to `ms`, then kills it. */
void sealer_stop(struct sealer *s, int ms);

#endif
