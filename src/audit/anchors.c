/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/anchors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static bool is_signature(struct span line)
{
	return line.n > 3 && memcmp(line.p, "\xe2\x80\x94", 3) == 0;
}

bool anchors_next(struct span *text, struct span *note)
{
	struct span rest = *text, line, ahead;

	while (rest.n && rest.p[0] == '\n')
		rest = span_of(rest.p + 1, rest.n - 1);
	note->p = rest.p;
	while (checkpoint_take_line(&rest, &line)) {
		ahead = rest;
		if (!is_signature(line))
			continue;
		if (checkpoint_take_line(&ahead, &line) && is_signature(line))
			continue;
		note->n = (size_t)(rest.p - note->p);
		*text = rest;
		return true;
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
	struct span note;
	int r = 0;

	while (r == 0 && anchors_next(&text, &note))
		if (is_of(note, origin))
			r = add(a, note, v, e);
	if (r < 0)
		return r;
	if (a->n == 0) {
		err_set(e, "anchor: no checkpoint of %s is in it", origin);
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
