/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signer: the key of a log: "key" (PEM, readable by its owner only), and "key.pub" for everybody:
 * the C2SP verifier key in the first line, then the same as PEM, which openssl reads as it is.
 */
#ifndef SG_AUDIT_SIGNER_H
#define SG_AUDIT_SIGNER_H

#include "audit/note.h"

enum { SIGNER_PUBLIC_MAX = VERIFIER_TEXT_MAX + 256 };

struct signer {
	EVP_PKEY *key; /* both halves */
	struct verifier verifier;
};

/* What of it is not there: is an error, or is made; waits for the disk, or does not. */
enum signer_make { SIGNER_READ, SIGNER_MAKE, SIGNER_MAKE_FLEETING };

/*
 * Reads the key, or makes it for the name `origin`. A key that others may
 * read is refused. 0 or -1 with the message; signer_free() in any case.
 */
int signer_open(struct signer *s, int dir, const char *origin, enum signer_make how,
		struct err *e) sg_must_check;
void signer_free(struct signer *s);

/*
 * key.pub of a folder, which must be written as signer_open() writes it. 0 or -errno with the
 * message: -EBADMSG when it is not.
 */
int signer_read_public(int dir, struct verifier *out, struct err *e) sg_must_check;

#endif
