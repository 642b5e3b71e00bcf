/* SPDX-License-Identifier: Apache-2.0 */
/* verifier: public keys as texts: C2SP verifier keys, and PEM. */
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <stdio.h>

#include "audit/digest.h"
#include "audit/note.h"

static const uint8_t type_ed25519 = 1;
enum { HEX_DIGITS = 8, PEM_MAX = 16 * 1024 };

uint32_t verifier_id(const struct verifier *v, struct span name)
{
	const struct span parts[] = {name, span_of("\n", 1), span_of(&type_ed25519, 1),
				     span_of(v->key, NOTE_KEY_OCTETS)};
	struct digest d = digest_of(parts, 4);

	return (uint32_t)d.b[0] << 24 | (uint32_t)d.b[1] << 16 | (uint32_t)d.b[2] << 8 | d.b[3];
}

void verifier_print(const struct verifier *v, char out[VERIFIER_TEXT_MAX])
{
	uint8_t octets[1 + NOTE_KEY_OCTETS] = {type_ed25519};
	char base64[BASE64_TEXT(sizeof(octets)) + 1];

	memcpy(octets + 1, v->key, NOTE_KEY_OCTETS);
	base64_print(span_of(octets, sizeof(octets)), base64);
	snprintf(out, VERIFIER_TEXT_MAX, "%s+%08x+%s", v->name,
		 verifier_id(v, span_of_string(v->name)), base64);
}

bool verifier_of_key(EVP_PKEY *key, const char *name, struct verifier *out)
{
	size_t n = NOTE_KEY_OCTETS;

	if (!note_name_valid(span_of_string(name)) || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519)
		return false;
	snprintf(out->name, sizeof(out->name), "%s", name);
	return EVP_PKEY_get_raw_public_key(key, out->key, &n) == 1 && n == NOTE_KEY_OCTETS;
}

static bool parse_pem(struct span text, struct verifier *out)
{
	BIO *bio = BIO_new_mem_buf(text.p, (int)text.n);
	EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;
	size_t n = NOTE_KEY_OCTETS;
	bool good = key && EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 &&
		    EVP_PKEY_get_raw_public_key(key, out->key, &n) == 1;

	EVP_PKEY_free(key);
	BIO_free(bio);
	out->name[0] = 0;
	return good;
}

/* NAME+HEX+BASE64, of which the middle is checked against the rest. */
static bool parse_verifier_key(struct span line, struct verifier *out)
{
	const uint8_t *plus = line.n ? memchr(line.p, '+', line.n) : NULL;
	uint8_t octets[1 + NOTE_KEY_OCTETS];
	char hex[HEX_DIGITS + 1];
	struct span name, rest;
	size_t n;

	if (!plus)
		return false;
	name = span_of(line.p, (size_t)(plus - line.p));
	rest = span_of(plus + 1, line.n - name.n - 1);
	if (!note_name_valid(name) || rest.n < HEX_DIGITS + 1 || rest.p[HEX_DIGITS] != '+')
		return false;
	if (!base64_parse(span_of(rest.p + HEX_DIGITS + 1, rest.n - HEX_DIGITS - 1), octets,
			  sizeof(octets), &n) ||
	    n != sizeof(octets) || octets[0] != type_ed25519)
		return false;
	memcpy(out->name, name.p, name.n);
	out->name[name.n] = 0;
	memcpy(out->key, octets + 1, NOTE_KEY_OCTETS);
	snprintf(hex, sizeof(hex), "%08x", verifier_id(out, name));
	return memcmp(hex, rest.p, HEX_DIGITS) == 0;
}

int verifier_parse(struct span text, struct verifier *out, struct err *e)
{
	const uint8_t *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
	struct span line = end ? span_of(text.p, (size_t)(end - text.p)) : text;

	if (text.n > PEM_MAX)
		return err_set(e, "too long for a public key");
	if (parse_verifier_key(line, out) || parse_pem(text, out))
		return 0;
	return err_set(e,
		       "no public key: wanted is Ed25519, as PEM (BEGIN PUBLIC KEY) or as a C2SP "
		       "verifier key (NAME+ID+KEY); a log has both in its key.pub");
}
