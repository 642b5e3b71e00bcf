/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/anchors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char dash[] = "\xe2\x80\x94"; /* U+2014: begins a signature line */
static const char marker[] = "audit checkpoint ";
enum { DASH = sizeof(dash) - 1, MARKER = sizeof(marker) - 1 };

static bool is_signature(struct span line)
{
	return line.n > DASH && memcmp(line.p, dash, DASH) == 0;
}

/* Takes the next word off; false when there is none. */
static bool take_word(struct span *s, struct span *word)
{
	size_t n = 0;

	while (n < s->n && s->p[n] != ' ')
		n++;
	*word = span_of(s->p, n);
	*s = n < s->n ? span_of(s->p + n + 1, s->n - n - 1) : span_of(s->p + n, 0);
	return n > 0;
}

/* The note of a line with the marker. */
static bool note_of_line(struct span line, char room[NOTE_MAX], struct span *note)
{
	const uint8_t *at = line.n ? memmem(line.p, line.n, marker, MARKER) : NULL;
	struct span rest, word[4];
	int n;

	if (!at)
		return false;
	rest = span_of(at + MARKER, line.n - (size_t)(at - line.p) - MARKER);
	for (size_t i = 0; i < sg_array_len(word); i++)
		if (!take_word(&rest, &word[i]))
			return false;
	n = snprintf(room, NOTE_MAX, "%.*s\n%.*s\n%.*s\n\n%s %.*s %.*s\n", (int)word[0].n,
		     word[0].p, (int)word[1].n, word[1].p, (int)word[2].n, word[2].p, dash,
		     (int)word[0].n, word[0].p, (int)word[3].n, word[3].p);
	*note = span_of(room, (size_t)n);
	return n > 0 && n < NOTE_MAX;
}

/* A blank line that no signature follows: what stands before it is a part of a note, and no more. */
static bool is_torn_off(struct span line, struct span rest)
{
	struct span next;

	return line.n == 0 && !(checkpoint_take_line(&rest, &next) && is_signature(next));
}

bool anchors_next(struct span *text, char room[NOTE_MAX], struct span *note)
{
	struct span rest = *text, line, ahead;

	while (rest.n && rest.p[0] == '\n')
		rest = span_of(rest.p + 1, rest.n - 1);
	*text = rest;
	while (checkpoint_take_line(&rest, &line)) {
		bool of_line = note_of_line(line, room, note);

		ahead = rest;
		if (is_torn_off(line, rest))
			*text = rest;
		if (!of_line && !is_signature(line))
			continue;
		if (!of_line && checkpoint_take_line(&ahead, &line) && is_signature(line))
			continue;
		if (!of_line)
			*note = span_of(text->p, (size_t)(rest.p - text->p));
		*text = rest;
		return true;
	}
	return false;
}

bool anchors_print_line(struct span all, char out[ANCHORS_LINE_MAX])
{
	struct note note;
	struct note_signature s;
	struct checkpoint c;
	char root[DIGEST_TEXT + 1], signature[BASE64_TEXT(128) + 1];
	int n;

	if (!note_parse(all, &note) || !checkpoint_parse(note.text, &c))
		return false;
	while (note_next_signature(&note.signatures, &s)) {
		if (!span_equal(s.name, span_of_string(c.origin)) || s.n > 124)
			continue;
		base64_print(span_of(s.decoded, s.n + 4), signature);
		digest_print(&c.root, root);
		n = snprintf(out, ANCHORS_LINE_MAX, "%s%s %" PRIu64 " %s %s", marker, c.origin,
			     c.size, root, signature);
		return n > 0 && n < ANCHORS_LINE_MAX;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct checkpoint *x = a, *y = b;

	return (x->size > y->size) - (x->size < y->size);
}

static bool is_of(struct span note, const char *origin)
{
	struct span line;

	return checkpoint_take_line(&note, &line) && span_equal(line, span_of_string(origin));
}

/*
 * A part of a note, which a disk that was full left, says nothing. Who could make one of a whole
 * note could take it away as well.
 */
static bool is_part(struct span all, const char *origin)
{
	struct note note;
	struct note_signature s;

	if (!note_parse(all, &note))
		return true;
	while (note_next_signature(&note.signatures, &s))
		if (span_equal(s.name, span_of_string(origin)) && s.n < NOTE_SIGNATURE_OCTETS)
			return true;
	return note.signatures.n > 0;
}

static int add(struct anchors *a, struct span note, const struct verifier *v, struct err *e)
{
	struct checkpoint *more = reallocarray(a->at, a->n + 1, sizeof(*more));

	if (!more) {
		err_set(e, "anchor: %s", err_why(ENOMEM));
		return -ENOMEM;
	}
	a->at = more;
	if (checkpoint_open(note, v, &a->at[a->n], e) < 0) {
		err_prefix(e, "the log is not the one of the anchor: checkpoint %zu there",
			   a->n + 1);
		return -EBADMSG;
	}
	a->n++;
	return 0;
}

int anchors_read(struct anchors *a, struct span text, const struct verifier *v, const char *origin,
		 struct err *e)
{
	char *room = malloc(NOTE_MAX);
	struct span note;
	int r = room ? 0 : -ENOMEM;

	if (r < 0)
		err_set(e, "anchor: %s", err_why(ENOMEM));
	while (r == 0 && anchors_next(&text, room, &note))
		if (is_of(note, origin) && !is_part(note, origin))
			r = add(a, note, v, e);
	free(room);
	if (r < 0)
		return r;
	if (a->n == 0) {
		err_set(e, "anchor: no whole checkpoint of %s is in it", origin);
		return -EINVAL;
	}
	qsort(a->at, a->n, sizeof(*a->at), compare);
	return 0;
}

void anchors_free(struct anchors *a)
{
	free(a->at);
	*a = (struct anchors){.n = 0};
}
