/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proof: one entry is in a log: c2sp.org/tlog-proof.
 *
 *	c2sp.org/tlog-proof@v1
 *	extra BASE64		the entry's line, without its newline; not there when it was pruned
 *	index 17
 *	BASE64			the inclusion path (RFC 6962, section 2.1.1), from the leaf up
 *				(a blank line)
 *	...			the checkpoint, as it is
 *
 * With the public key alone it shows that whoever holds the private one signed a log with just this
 * entry at this place. The leaf is SHA-256(0x00 || line).
 */
#ifndef SG_AUDIT_PROOF_H
#define SG_AUDIT_PROOF_H

#include "audit/checkpoint.h"
#include "audit/entry.h"

enum { PROOF_MAX = BASE64_TEXT(ENTRY_MAX) + NOTE_MAX + 64 * (DIGEST_TEXT + 1) + 256 };

/* The parts, borrowed. */
struct proof {
	struct span extra; /* base64; .p is NULL: there is none */
	uint64_t index;
	struct tree_path path;
	struct span checkpoint;
};

bool proof_parse(struct span text, struct proof *out);

/* The proof of entry `seq` under the latest checkpoint; the caller frees. NULL with the message. */
char *proof_make(int dir, uint64_t seq, struct err *e);

/* What a proof that holds is about. */
struct proof_said {
	struct checkpoint under;
	struct entry entry; /* free with proof_said_free() */
	char *line;
	size_t n;
};

/*
 * Checks a proof with a public key (PEM or C2SP). `line` is the entry's, or empty: then the one in
 * the proof is taken. 0; -EBADMSG: it does not hold; -EINVAL: the key is none, or there is no line.
 * With the message.
 */
int proof_check(struct span text, struct span line, struct span key, struct proof_said *out,
		struct err *e) sg_must_check;
void proof_said_free(struct proof_said *said);

#endif
