/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>

bool checkpoint_parse_number(struct span s, uint64_t *out)
{
	uint64_t v = 0;

	if (s.n == 0 || s.n > 19 || (s.n > 1 && s.p[0] == '0'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		v = v * 10 + (s.p[i] - '0');
	}
	*out = v;
	return v <= INT64_MAX;
}

bool checkpoint_take_line(struct span *s, struct span *line)
{
	const uint8_t *end = s->n ? memchr(s->p, '\n', s->n) : NULL;

	if (!end)
		return false;
	*line = span_of(s->p, (size_t)(end - s->p));
	*s = span_of(end + 1, s->n - line->n - 1);
	return true;
}

bool checkpoint_parse(struct span text, struct checkpoint *out)
{
	struct span origin, size, root, more;

	if (!checkpoint_take_line(&text, &origin) || !checkpoint_take_line(&text, &size) ||
	    !checkpoint_take_line(&text, &root))
		return false;
	while (checkpoint_take_line(&text, &more))
		if (more.n == 0)
			return false;
	if (text.n || !note_name_valid(origin) || !checkpoint_parse_number(size, &out->size) ||
	    !digest_parse(root, &out->root))
		return false;
	memcpy(out->origin, origin.p, origin.n);
	out->origin[origin.n] = 0;
	return true;
}

int checkpoint_open(struct span note, const struct verifier *v, struct checkpoint *out,
		    struct err *e)
{
	struct span text;

	if (note_open(note, v, &text, e) < 0)
		return -1;
	if (!checkpoint_parse(text, out))
		return err_set(e, "not a checkpoint (c2sp.org/tlog-checkpoint)");
	return 0;
}

char *checkpoint_sign(EVP_PKEY *key, const struct verifier *v, const struct tree *t)
{
	struct digest root = tree_root(t);
	char base64[DIGEST_TEXT + 1], text[NOTE_NAME_MAX + DIGEST_TEXT + 32];

	digest_print(&root, base64);
	snprintf(text, sizeof(text), "%s\n%" PRIu64 "\n%s\n", v->name, t->size, base64);
	return note_sign(key, v, span_of_string(text));
}
