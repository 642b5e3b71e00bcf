/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name: canonicalising names, once, at the edge.
 *
 * Only a label that is not ASCII goes to libidn2, alone: real names hold labels
 * that IDNA refuses as U-labels ("r3---sn-4g5e6nz7"), and those need no mapping.
 * UTS 46 maps many characters onto ASCII (full-width forms, the ideographic
 * dot, the Kelvin sign). Such a character is a disguise of the name that the
 * person means and is refused instead of mapped.
 */
#include "base/name.h"

#include <idn2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/compiler.h"

enum {
	LABEL_MAX_OCTETS = 63,
	/* Octets that one label of U-labels may take before conversion: 4 octets a character. */
	U_LABEL_MAX_OCTETS = 4 * LABEL_MAX_OCTETS,
};

/* The canonical octet for each octet of an ASCII name; 0: not allowed in a label. */
static const char canonical[256] = {
	['-'] = '-', ['_'] = '_', ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4',
	['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8', ['9'] = '9', ['a'] = 'a', ['b'] = 'b',
	['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i',
	['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p',
	['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w',
	['x'] = 'x', ['y'] = 'y', ['z'] = 'z', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd',
	['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k',
	['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r',
	['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',
	['Z'] = 'z',
};

static bool is_digits(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return true;
}

static bool is_hex(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	return true;
}

/* What inet_aton and URL parsers read as the last part of an address: "1", "0x7f", "0x". */
static bool is_numeric_label(const char *s, size_t n)
{
	return is_digits(s, n) || (n >= 2 && s[0] == '0' && s[1] == 'x' && is_hex(s + 2, n - 2));
}

/*
 * Appends one ASCII label and returns what is wrong with it. `out->n` is the length so far; the
 * separating dot is written here. `at` gets the octet within the label.
 */
static enum name_error append_label(struct name *out, const char *s, size_t n, size_t *at)
{
	size_t start = out->n ? out->n + 1u : 0;

	*at = 0;
	if (n == 0)
		return NAME_EMPTY_LABEL;
	for (size_t i = 0; i < n; i++) {
		*at = i;
		if (!canonical[(uint8_t)s[i]])
			return NAME_BAD_CHARACTER;
		if (i == LABEL_MAX_OCTETS)
			return NAME_LABEL_TOO_LONG;
		if (start + i >= NAME_MAX_OCTETS)
			return NAME_TOO_LONG;
		out->s[start + i] = canonical[(uint8_t)s[i]];
	}
	if (s[n - 1] == '-')
		return NAME_BAD_HYPHEN;
	*at = 0;
	if (s[0] == '-')
		return NAME_BAD_HYPHEN;
	if (start)
		out->s[start - 1] = '.';
	out->n = (uint8_t)(start + n);
	return NAME_OK;
}

/* The length without one trailing dot. */
static size_t without_final_dot(const char *s, size_t n)
{
	return n && s[n - 1] == '.' ? n - 1 : n;
}

/* Ends the name: NUL, and the last label is not the last part of an address. */
static enum name_error finish(struct name *out, size_t last_label)
{
	out->s[out->n] = 0;
	if (is_numeric_label(out->s + out->n - last_label, last_label))
		return NAME_NUMERIC;
	return NAME_OK;
}

/* What was not a name is left empty, never half a name. */
static enum name_error refuse(struct name *out, enum name_error e)
{
	out->n = 0;
	out->s[0] = 0;
	return e;
}

enum name_error name_parse_ascii(const char *s, size_t n, struct name *out)
{
	size_t from = 0, at, len = 0;
	enum name_error e;

	refuse(out, NAME_EMPTY);
	n = without_final_dot(s, n);
	if (n == 0)
		return NAME_EMPTY;
	if (n > NAME_MAX_OCTETS)
		return NAME_TOO_LONG;
	while (from <= n) {
		const char *dot = memchr(s + from, '.', n - from);

		len = dot ? (size_t)(dot - (s + from)) : n - from;
		e = append_label(out, s + from, len, &at);
		if (e != NAME_OK)
			return refuse(out, e);
		from += len + 1;
	}
	e = finish(out, len);
	return e == NAME_OK ? e : refuse(out, e);
}

/* The octets of the UTF-8 sequence at s, 0 when it is not one (RFC 3629). */
static size_t utf8_length(const char *s, size_t n)
{
	uint8_t c = (uint8_t)s[0];
	size_t want = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : 4;

	if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || want > n)
		return 0;
	for (size_t i = 1; i < want; i++)
		if (((uint8_t)s[i] & 0xc0) != 0x80)
			return 0;
	return want;
}

/* True when UTS 46 turns the character at s into ASCII or into nothing. */
static bool is_disguise(const char *s, size_t n)
{
	char probe[8] = {'x'}, *ascii = NULL;
	bool disguise;

	memcpy(probe + 1, s, n);
	if (idn2_to_ascii_8z(probe, &ascii, IDN2_NONTRANSITIONAL) != IDN2_OK)
		return false; /* not allowed at all: the whole label will be refused */
	disguise = strncmp(ascii, "xn--", 4) != 0;
	idn2_free(ascii);
	return disguise;
}

static enum name_error check_characters(const char *s, size_t n, size_t *at)
{
	for (size_t i = 0; i < n;) {
		size_t len = utf8_length(s + i, n - i);

		*at = i;
		if (len == 0 || (len == 1 && !canonical[(uint8_t)s[i]]))
			return NAME_BAD_CHARACTER;
		if (len > 1 && is_disguise(s + i, len))
			return NAME_BAD_CHARACTER;
		i += len;
	}
	return NAME_OK;
}

/* A label with characters beyond ASCII: to its A-label, then as any label. */
static enum name_error append_u_label(struct name *out, const char *s, size_t n, size_t *at)
{
	char label[U_LABEL_MAX_OCTETS + 1], *ascii = NULL;
	enum name_error e;
	int rc;

	*at = 0;
	if (n > U_LABEL_MAX_OCTETS)
		return NAME_LABEL_TOO_LONG;
	e = check_characters(s, n, at);
	if (e != NAME_OK)
		return e;
	memcpy(label, s, n);
	label[n] = 0;
	*at = 0;
	rc = idn2_to_ascii_8z(label, &ascii, IDN2_NONTRANSITIONAL);
	if (rc == IDN2_TOO_BIG_LABEL || rc == IDN2_TOO_BIG_DOMAIN)
		return NAME_LABEL_TOO_LONG;
	if (rc != IDN2_OK)
		return NAME_BAD_IDNA;
	e = append_label(out, ascii, strlen(ascii), at);
	idn2_free(ascii);
	*at = 0;
	return e;
}

/* An A-label that a person wrote must be Punycode of what needs it (RFC 5890, 2.3.2.1). */
static bool is_false_a_label(const char *s, size_t n)
{
	char label[LABEL_MAX_OCTETS + 1], *text = NULL;
	bool is_false;

	if (n < 4 || n > LABEL_MAX_OCTETS || strncasecmp(s, "xn--", 4) != 0)
		return false;
	memcpy(label, s, n);
	label[n] = 0;
	if (idn2_to_unicode_8z8z(label, &text, 0) != IDN2_OK)
		return true;
	is_false = true;
	for (const char *p = text; *p; p++)
		if ((uint8_t)*p >= 0x80)
			is_false = false;
	idn2_free(text);
	return is_false;
}

static enum name_error append_written_label(struct name *out, const char *s, size_t n, size_t *at)
{
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)s[i] >= 0x80)
			return append_u_label(out, s, n, at);
	*at = 0;
	if (is_false_a_label(s, n))
		return NAME_BAD_IDNA;
	return append_label(out, s, n, at);
}

enum name_error name_parse(const char *s, size_t n, struct name *out, size_t *at)
{
	size_t from = 0, inner = 0, before = 0;
	enum name_error e = refuse(out, NAME_EMPTY);

	n = without_final_dot(s, n);
	while (n && from <= n) {
		const char *dot = memchr(s + from, '.', n - from);
		size_t len = dot ? (size_t)(dot - (s + from)) : n - from;

		before = out->n ? out->n + 1u : 0;
		e = append_written_label(out, s + from, len, &inner);
		if (e != NAME_OK)
			break;
		inner = 0;
		if (!dot) {
			e = finish(out, out->n - before);
			break;
		}
		from += len + 1;
	}
	if (at)
		*at = e == NAME_OK ? 0 : from + inner;
	return e == NAME_OK ? e : refuse(out, e);
}

const char *name_error_text(enum name_error e)
{
	static const char *const text[] = {
		[NAME_OK] = "it is a name",
		[NAME_EMPTY] = "it is empty",
		[NAME_EMPTY_LABEL] = "a label is empty",
		[NAME_TOO_LONG] = "the name is longer than 253 octets",
		[NAME_LABEL_TOO_LONG] = "a label is longer than 63 octets",
		[NAME_BAD_CHARACTER] = "a character that a name cannot hold",
		[NAME_BAD_HYPHEN] = "a label begins or ends with a hyphen",
		[NAME_NUMERIC] = "the last label is a number, as in an address",
		[NAME_BAD_IDNA] = "a label is not valid under IDNA2008",
	};

	return (unsigned)e < sg_array_len(text) ? text[e] : "it is not a name";
}

bool name_is_canonical(const struct name *name)
{
	struct name again;

	return name->n <= NAME_MAX_OCTETS && name->s[name->n] == 0 &&
	       name_parse_ascii(name->s, name->n, &again) == NAME_OK && name_equal(name, &again);
}

bool name_is_below(const struct name *name, const struct name *parent)
{
	size_t skip;

	if (name->n <= parent->n + 1)
		return false;
	skip = name->n - parent->n;
	return name->s[skip - 1] == '.' && memcmp(name->s + skip, parent->s, parent->n) == 0;
}

/*
 * SipHash-1-3 (Aumasson and Bernstein, 2012). Chosen before main(), so that a process that gave
 * up its system calls never needs one for it; a forked child shares its parent's key.
 */
static uint64_t hash_key[2];

__attribute__((constructor)) static void choose_hash_key(void)
{
	if (getrandom(hash_key, sizeof(hash_key), 0) != sizeof(hash_key)) {
		fputs("sandgate: no random numbers: getrandom failed\n", stderr);
		abort();
	}
}

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate_left(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

static inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v2 = rotate_left(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

uint64_t name_hash(const char *s, size_t n)
{
	struct sip state = {
		.v0 = hash_key[0] ^ 0x736f6d6570736575u,
		.v1 = hash_key[1] ^ 0x646f72616e646f6du,
		.v2 = hash_key[0] ^ 0x6c7967656e657261u,
		.v3 = hash_key[1] ^ 0x7465646279746573u,
	};
	uint64_t word, last = (uint64_t)n << 56;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		memcpy(&word, s + i, 8);
		sip_word(&state, word);
	}
	word = 0;
	if (i < n)
		memcpy(&word, s + i, n - i);
	sip_word(&state, last | word);
	state.v2 ^= 0xff;
	sip_round(&state);
	sip_round(&state);
	sip_round(&state);
	return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}
