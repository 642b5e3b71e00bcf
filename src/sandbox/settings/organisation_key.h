/* SPDX-License-Identifier: Apache-2.0 */
/*
 * organisation_key: the pair of Ed25519 keys (RFC 8032) that an organisation signs its policy with.
 *
 * Keys are PEM (PKCS #8 and SubjectPublicKeyInfo, RFC 8410), a signature is its 64 octets in
 * base64. The signature is over the exact octets of the file.
 */
#ifndef SG_SANDBOX_ORGANISATION_KEY_H
#define SG_SANDBOX_ORGANISATION_KEY_H

#include "base/err.h"
#include "base/span.h"

enum { ORGANISATION_SIGNATURE_TEXT = 88 }; /* characters, without the newline */

/* A new pair; free both with organisation_key_free(). 0 or -1 with the message. */
int organisation_key_make(char **private_pem, char **public_pem, struct err *e) sg_must_check;

/* Wipes and frees; NULL does nothing. */
void organisation_key_free(char *pem);

/* `file` is the key's name for messages. The result ends with a newline and a NUL. */
int organisation_key_sign(struct span private_pem, const char *file, struct span text,
			  char out[ORGANISATION_SIGNATURE_TEXT + 2], struct err *e) sg_must_check;

/* 0 when the signature is the key's over the text; else -1 with why not. */
int organisation_key_verify(struct span public_pem, const char *file, struct span text,
			    struct span signature, struct err *e) sg_must_check;

#endif
