/* SPDX-License-Identifier: Apache-2.0 */
/* What a source prints: what is taken lies in the room that was given, and what is refused leaves a
 * reason. */
#include <stdlib.h>

#include "fuzz.h"
#include "policy/secret_text.h"

static void check_inside(struct span s, const struct buf *room)
{
	if (s.n && (s.p < room->p || s.p + s.n > room->p + room->n))
		abort();
}

static void check(struct span printed, bool aws)
{
	uint8_t octets[512];
	struct buf room = buf_of(octets, sizeof(octets));
	struct secret_text t;
	struct err e = {""};

	if (secret_text_parse(printed, aws, &room, &t, &e)) {
		if (!e.text[0])
			abort();
		return;
	}
	check_inside(t.value, &room);
	check_inside(t.key_id, &room);
	check_inside(t.session, &room);
	if (aws && (!t.key_id.n || !t.value.n) && printed.p[0] != '{')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(span_of(data, size), false);
	check(span_of(data, size), true);
	return 0;
}
