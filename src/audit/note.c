/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/note.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/digest.h"
#include "policy/utf8.h"

static const char dash[] = "\xe2\x80\x94 "; /* U+2014 and a space */
enum { DASH = sizeof(dash) - 1, ID_OCTETS = 4 };

/* Of what Unicode calls a space, the ones of ASCII and Latin-1, and General Punctuation's. */
static bool is_space(uint32_t code)
{
	return code <= 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0x1680 ||
	       (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
	       code == 0x202f || code == 0x205f || code == 0x3000;
}

bool note_name_valid(struct span name)
{
	if (name.n == 0 || name.n > NOTE_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.n;) {
		uint32_t code;
		size_t n = utf8_decode(name.p + i, name.n - i, &code);

		if (!n || is_space(code) || code == '+')
			return false;
		i += n;
	}
	return true;
}

static bool is_clean(struct span s)
{
	for (size_t i = 0; i < s.n;) {
		uint32_t code;
		size_t n = utf8_decode(s.p + i, s.n - i, &code);

		if (!n || (code < 0x20 && code != '\n'))
			return false;
		i += n;
	}
	return true;
}

bool note_parse(struct span all, struct note *out)
{
	if (all.n < 4 || all.n > NOTE_MAX || !is_clean(all) || all.p[all.n - 1] != '\n')
		return false;
	/* The last blank line parts them: a text may have some of its own. */
	for (size_t i = all.n - 2; i > 0; i--) {
		if (all.p[i] != '\n' || all.p[i - 1] != '\n')
			continue;
		out->text = span_of(all.p, i);
		out->signatures = span_of(all.p + i + 1, all.n - i - 1);
		return true;
	}
	return false;
}

/* "— NAME BASE64" */
static bool parse_signature(struct span line, struct note_signature *out)
{
	const uint8_t *space;
	struct span rest;
	size_t n;

	if (line.n < DASH || memcmp(line.p, dash, DASH) != 0)
		return false;
	rest = span_of(line.p + DASH, line.n - DASH);
	space = memchr(rest.p, ' ', rest.n);
	if (!space)
		return false;
	out->name = span_of(rest.p, (size_t)(space - rest.p));
	rest = span_of(space + 1, rest.n - out->name.n - 1);
	if (!note_name_valid(out->name) ||
	    !base64_parse(rest, out->decoded, sizeof(out->decoded), &n) || n <= ID_OCTETS)
		return false;
	out->id = (uint32_t)out->decoded[0] << 24 | (uint32_t)out->decoded[1] << 16 |
		  (uint32_t)out->decoded[2] << 8 | out->decoded[3];
	out->octets = out->decoded + ID_OCTETS;
	out->n = n - ID_OCTETS;
	return true;
}

bool note_next_signature(struct span *lines, struct note_signature *out)
{
	const uint8_t *end = lines->n ? memchr(lines->p, '\n', lines->n) : NULL;
	size_t n;

	if (!end)
		return false;
	n = (size_t)(end - lines->p);
	if (!parse_signature(span_of(lines->p, n), out))
		return false;
	*lines = span_of(end + 1, lines->n - n - 1);
	return true;
}

static bool signature_holds(const struct verifier *v, struct span text,
			    const struct note_signature *s)
{
	EVP_PKEY *key =
		EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, v->key, NOTE_KEY_OCTETS);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = key && ctx && s->n == NOTE_SIGNATURE_OCTETS &&
		    EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
		    EVP_DigestVerify(ctx, s->octets, s->n, text.p, text.n) == 1;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return good;
}

/* A checkpoint's key has the name of its first line: what a key without a name goes by. */
static struct span name_for(const struct verifier *v, struct span text)
{
	const uint8_t *end = memchr(text.p, '\n', text.n);

	if (v->name[0])
		return span_of_string(v->name);
	return span_of(text.p, end ? (size_t)(end - text.p) : 0);
}

int note_open(struct span all, const struct verifier *v, struct span *text, struct err *e)
{
	struct note note;
	struct note_signature s;
	struct span name;
	unsigned lines = 0;
	bool signed_by_it = false;

	if (!note_parse(all, &note))
		return err_set(e, "not a signed note (c2sp.org/signed-note)");
	name = name_for(v, note.text);
	while (lines++ < NOTE_SIGNATURES_MAX && note_next_signature(&note.signatures, &s)) {
		if (!span_equal(s.name, name) || s.id != verifier_id(v, name))
			continue;
		if (!signature_holds(v, note.text, &s))
			return err_set(e, "its signature is bad");
		signed_by_it = true;
	}
	if (note.signatures.n)
		return err_set(e, "a signature line is malformed");
	if (!signed_by_it)
		return err_set(e, "it is not signed with this key");
	*text = note.text;
	return 0;
}

static bool sign(EVP_PKEY *key, struct span text, uint8_t out[NOTE_SIGNATURE_OCTETS])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = NOTE_SIGNATURE_OCTETS;
	bool good = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
		    EVP_DigestSign(ctx, out, &n, text.p, text.n) == 1 && n == NOTE_SIGNATURE_OCTETS;

	EVP_MD_CTX_free(ctx);
	return good;
}

char *note_sign(EVP_PKEY *key, const struct verifier *v, struct span text)
{
	uint8_t octets[ID_OCTETS + NOTE_SIGNATURE_OCTETS];
	char base64[BASE64_TEXT(sizeof(octets)) + 1], *note;
	uint32_t id = verifier_id(v, span_of_string(v->name));

	if (text.n == 0 || text.p[text.n - 1] != '\n' || !is_clean(text) ||
	    !sign(key, text, octets + ID_OCTETS))
		return NULL;
	for (unsigned i = 0; i < ID_OCTETS; i++)
		octets[i] = (uint8_t)(id >> (24 - 8 * i));
	base64_print(span_of(octets, sizeof(octets)), base64);
	if (asprintf(&note, "%.*s\n%s%s %s\n", (int)text.n, (const char *)text.p, dash, v->name,
		     base64) < 0)
		return NULL;
	return note;
}
