/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_link: the supervisor's hold on its logs: the folder they are in, the ring, and the sealer.
 *
 * The ring and the totals in it are in a file beside the logs: whoever dies, nothing that was
 * counted is lost. A sealer that dies is replaced, and meanwhile nothing of the sandbox waits.
 *
 * The folder of a sandbox that is not kept is taken away at its end, or, when its supervisor was
 * killed, by the next run of the same person; its last checkpoint stays in the host's log.
 */
#ifndef SG_SANDBOX_LOG_LINK_H
#define SG_SANDBOX_LOG_LINK_H

#include <jansson.h>
#include <stdbool.h>

#include "audit/sealer.h"
#include "base/clock.h"
#include "sandbox/log/log_beyond.h"
#include "sandbox/restarts.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/settings/sources.h"

enum { SEALER_STOP_MS = 5000 };

struct log_link {
	struct sealer *sealer;
	struct sealer_setup setup;
	int folder, ring_file, broker_ring_file;
	int wake;		    /* of the sealer, by either ring */
	struct ring *ring;	    /* for the gate; NULL: there is none */
	struct ring *broker_ring;   /* for the broker; NULL: none was needed yet */
	struct restarts restarts;   /* of the sealer */
	struct audit_anchor anchor; /* borrowed from the settings */
	pid_t anchoring;	    /* the child that hands a checkpoint out, or 0 */
	mono_t anchor_at;	    /* the next one not before */
};

#define LOG_LINK_NONE \
	((struct log_link){.folder = -1, .ring_file = -1, .broker_ring_file = -1, .wake = -1})

/*
 * Opens the folder, makes the ring, starts the sealer. `sealer` and the name in `dir` are borrowed.
 * `lasting`: the sandbox is kept after its end. 0, or -1 with the message; log_link_close() in both
 * cases.
 */
int log_link_open(struct log_link *l, struct sealer *sealer, const struct runtime_dir *dir,
		  bool lasting, const struct sources *sources, struct err *e) sg_must_check;

/* No gate lives, and one is about to be started. */
void log_link_mend(struct log_link *l);

/*
 * No broker lives, and one is about to be started: makes `broker_ring` when there is none yet, also
 * while the sealer runs. 0 or -1 with the message.
 */
int log_link_prepare_broker(struct log_link *l, struct err *e) sg_must_check;

/*
 * The sealer has ended. Starts another: 0 and how it ended in `e`, to be told; or -1 with the
 * message, when it happens too often.
 */
int log_link_renew(struct log_link *l, struct err *e) sg_must_check;

/* Hands a checkpoint to the anchors when there is a new one, and it is time for it. */
void log_link_anchor(struct log_link *l);

/*
 * The last of a sandbox: `entry` ("sandgate.sandbox.stop", consumed, NULL: it never started) is
 * written and sealed, the sealer ended, what is passing taken away.
 */
void log_link_close(struct log_link *l, json_t *entry);

#endif
