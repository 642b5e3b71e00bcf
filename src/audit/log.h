/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: a log of which it can be proven later that nothing was changed, dropped or added.
 *
 * Entries are lines of canonical JSON; the leaves of a tree (RFC 6962) are their hashes; the root
 * is signed (C2SP checkpoint, Ed25519). One writer at a time, who holds the lock of the folder; any
 * number of readers. log.c has the files and the order in which they are written.
 */
#ifndef SG_AUDIT_LOG_H
#define SG_AUDIT_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

enum { AUDIT_ORIGIN_MAX = 320 };

struct audit_log;

struct audit_log_options {
	/* Of checkpoints: "sandgate/HOST/NAME". Of a log that is there already, its own is kept. */
	const char *origin;
	uint64_t segment_bytes; /* a new segment after so many; 0: the default, 16 MiB */
	unsigned keep_segments; /* prune older ones, their hashes stay; 0: keep all */
	bool fleeting; /* the log is taken away with its sandbox: nothing waits for the disk */
};

/*
 * Opens the log in the folder `dir` (a descriptor, which is not kept), making key, key.pub and
 * files when there are none. Compares all that was sealed with its hashes. Keeps whole entries that
 * were written and not sealed, cuts a torn tail, and then appends `sandgate.audit.recovered` with
 * "kept" and "cut_bytes". Waits for the lock up to 5 s. NULL with the message: also when an entry
 * that was sealed is missing or differs, which names the first bad sequence number.
 */
struct audit_log *audit_log_open(int dir, const struct audit_log_options *o, struct err *e);

/*
 * Appends one entry. `entry` is consumed; "seq" and, unless it has a valid one, "time" are set
 * here; a time is never earlier than the one before. Written at once, durable after
 * audit_log_commit(). 0 or -errno: ENOSPC, EIO (nothing of it was written; later it may work
 * again), EINVAL (no object, a real number in it), EMSGSIZE (more than 1 MiB).
 */
int audit_log_append(struct audit_log *l, json_t *entry) sg_must_check;

/*
 * fdatasync, the tree's edge, and when `sign` the checkpoint. 0 or -errno; then nothing that was
 * appended is lost, and the next call tries again.
 */
int audit_log_commit(struct audit_log *l, bool sign) sg_must_check;

uint64_t audit_log_size(const struct audit_log *l); /* entries */
bool audit_log_dirty(const struct audit_log *l);    /* something is not committed, or not signed */

/* Commits, signs, lets go. */
void audit_log_close(struct audit_log *l);

/*
 * The latest signed checkpoint of a folder, for anchors and for the host's own log; the caller
 * frees. NULL: none.
 */
char *audit_log_checkpoint(int dir, struct err *e);

/* ---- verify.c ---- */

#define AUDIT_NO_SEQ UINT64_MAX /* what is bad is no entry: a file beside them */

struct audit_verdict {
	bool holds;
	char origin[AUDIT_ORIGIN_MAX + 1]; /* empty when it could not be read */
	uint64_t size;			   /* entries that are signed */
	uint64_t bad_seq;		   /* when !holds: the first bad one, or AUDIT_NO_SEQ */
	bool pruned;			   /* the oldest entries are hashes only */
	uint64_t first_seq;		   /* the first whose text is there */
	uint64_t unsealed;		   /* whole entries after the last checkpoint */
	uint64_t torn;			   /* octets of an unfinished line after them */
	unsigned anchors; /* checkpoints kept elsewhere that the log was held against */
	struct err why;	  /* when !holds, for a person */
};

/*
 * Recomputes all. `anchor` is the text of checkpoints kept elsewhere, one or many, of this log and
 * others, or empty; `key` a public key (PEM or C2SP verifier key) to be used in the place of the
 * folder's own, or empty. 0 when it could be judged, -1 when not (no log, cannot be read, no
 * checkpoint of this log in `anchor`).
 */
int audit_verify(int dir, struct span anchor, struct span key, struct audit_verdict *v,
		 struct err *e) sg_must_check;

/* Calls fn for each whole entry from `from` on, sealed or not yet; stops when fn returns false. */
typedef bool audit_entry_fn(void *ctx, uint64_t seq, struct span line);
int audit_each(int dir, uint64_t from, audit_entry_fn *fn, void *ctx, struct err *e) sg_must_check;

#endif
