/* SPDX-License-Identifier: Apache-2.0 */
/*
 * note: a text signed by keys: c2sp.org/signed-note, with Ed25519 (RFC 8032), type 0x01.
 *
 * The text, a blank line, and signature lines of an em dash, the key's name, and base64 of four
 * octets of key id and the signature over the text with its final newline. A name and an id
 * together say which key it was; signatures of other keys are passed over.
 */
#ifndef SG_AUDIT_NOTE_H
#define SG_AUDIT_NOTE_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

enum {
	NOTE_MAX = 64 * 1024, /* octets of a whole note */
	NOTE_NAME_MAX = 320,  /* octets of a key's name */
	NOTE_KEY_OCTETS = 32,
	NOTE_SIGNATURE_OCTETS = 64,
	NOTE_SIGNATURES_MAX = 64,
	VERIFIER_TEXT_MAX = NOTE_NAME_MAX + 64,
};

/* A public key, and how signatures by it are recognised. */
struct verifier {
	char name[NOTE_NAME_MAX + 1]; /* empty: from PEM, which has none; the note's own is taken */
	uint8_t key[NOTE_KEY_OCTETS];
};

/* The parts of a note, borrowed. The signature lines are not looked at yet. */
struct note {
	struct span text;	/* with its final newline */
	struct span signatures; /* lines */
};

/* One signature line. */
struct note_signature {
	struct span name;
	uint32_t id;
	const uint8_t *octets; /* of the signature, in `decoded` */
	size_t n;
	uint8_t decoded[8192];
};

/* Not empty, no white space, no plus, nothing that is not printable. */
bool note_name_valid(struct span name);

/* False when it is no note: controls, bad UTF-8, no blank line, no signature. */
bool note_parse(struct span all, struct note *out);

/*
 * Takes the next line off `lines`. False at the end, or at a line that is malformed: then lines->n
 * is not 0.
 */
bool note_next_signature(struct span *lines, struct note_signature *out);

/*
 * Splits the note and checks that `v` signed it. A bad signature of v's, or none of it, is an
 * error. 0 or -1 with the message.
 */
int note_open(struct span all, const struct verifier *v, struct span *text,
	      struct err *e) sg_must_check;

/* The whole note; NULL when it cannot be signed. The caller frees. */
char *note_sign(EVP_PKEY *key, const struct verifier *v, struct span text);

/* The first four octets of SHA-256(name || 0x0A || 0x01 || key). */
uint32_t verifier_id(const struct verifier *v, struct span name);

/* NAME+HEX+BASE64, or PEM (what stands around the PEM block is not looked at). */
int verifier_parse(struct span text, struct verifier *out, struct err *e) sg_must_check;
void verifier_print(const struct verifier *v, char out[VERIFIER_TEXT_MAX]);
/* Of the public half. False when it is not Ed25519. */
bool verifier_of_key(EVP_PKEY *key, const char *name, struct verifier *out);

#endif
