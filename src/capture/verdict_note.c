/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/verdict_note.h"

static bool is_printable(const char *text)
{
	for (size_t i = 0; i < VERDICT_TEXT_MAX; i++) {
		if (text[i] == 0)
			return true;
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	}
	return false;
}

bool verdict_note_valid(const struct verdict_note *n)
{
	return n->kind < VERDICT_KINDS && n->tuple.lookup <= 1 && is_printable(n->text);
}
