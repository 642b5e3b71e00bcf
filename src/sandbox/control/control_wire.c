/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control/control_wire.h"

#include <stdlib.h>
#include <string.h>

uint8_t *control_encode(const json_t *message, size_t max, size_t *n)
{
	size_t text = json_dumpb(message, NULL, 0, JSON_COMPACT);
	uint8_t *p = text && text <= max ? malloc(CONTROL_HEAD + text) : NULL;

	if (!p)
		return NULL;
	control_write_head(p, (uint32_t)text);
	if (json_dumpb(message, (char *)p + CONTROL_HEAD, text, JSON_COMPACT) != text) {
		free(p);
		return NULL;
	}
	*n = CONTROL_HEAD + text;
	return p;
}

json_t *control_decode(const uint8_t *p, size_t n)
{
	json_t *m = json_loadb((const char *)p, n, JSON_REJECT_DUPLICATES, NULL);

	if (m && !json_is_object(m)) {
		json_decref(m);
		return NULL;
	}
	return m;
}
