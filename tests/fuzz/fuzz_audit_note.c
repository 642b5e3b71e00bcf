/* SPDX-License-Identifier: Apache-2.0 */
/* A note, a checkpoint, a public key, a file of anchors: what is taken is what it prints as. */
#include <stdlib.h>

#include "audit/anchors.h"
#include "fuzz.h"

static void check_verifier(struct span text)
{
	struct verifier v, again;
	char line[VERIFIER_TEXT_MAX];
	struct err e;

	if (verifier_parse(text, &v, &e) < 0 || !v.name[0])
		return;
	verifier_print(&v, line);
	if (verifier_parse(span_of_string(line), &again, &e) < 0 ||
	    memcmp(again.key, v.key, NOTE_KEY_OCTETS) != 0 || strcmp(again.name, v.name) != 0)
		abort();
}

static void check_note(struct span all)
{
	struct note note;
	struct note_signature s;
	struct checkpoint c;
	size_t n = 0;

	if (!note_parse(all, &note))
		return;
	if (note.text.n + 1 + note.signatures.n != all.n || note.text.p[note.text.n - 1] != '\n')
		abort();
	while (note_next_signature(&note.signatures, &s))
		if (s.n == 0 || !note_name_valid(s.name) || n++ > all.n)
			abort();
	if (checkpoint_parse(note.text, &c) && (c.size > INT64_MAX || !c.origin[0]))
		abort();
}

/*
 * Whatever stands in a file of anchors, what is taken out of it ends, and a line is a note again.
 */
static void check_anchors(struct span text)
{
	static char room[NOTE_MAX];
	char line[ANCHORS_LINE_MAX];
	struct span note, again, rest;

	for (size_t left = text.n; anchors_next(&text, room, &note); left = text.n) {
		if (text.n >= left)
			abort();
		if (!anchors_print_line(note, line))
			continue;
		strcat(line, "\n");
		rest = span_of_string(line);
		if (!anchors_next(&rest, room, &again) || !anchors_print_line(again, line))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct span text = span_of(data, size);

	check_note(text);
	check_verifier(text);
	check_anchors(text);
	return 0;
}
