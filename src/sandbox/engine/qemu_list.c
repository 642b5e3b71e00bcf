/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/qemu_list.h"

#include <stdbool.h>
#include <string.h>

/* Up to a comma that stands alone. False when it does not fit. */
static bool copy_value(const char **at, char *out, size_t cap)
{
	const char *p = *at;
	size_t n = 0;

	for (; *p && (*p != ',' || p[1] == ','); p++) {
		p += *p == ',';
		if (n + 1 >= cap)
			return false;
		out[n++] = *p;
	}
	out[n] = 0;
	*at = p;
	return true;
}

int qemu_list_next(const char **at, struct qemu_property *out)
{
	const char *p = *at;
	size_t key = strcspn(p, ",=");

	*out = (struct qemu_property){0};
	if (!*p)
		return 0;
	if (p[key] == '=') {
		if (key >= sizeof(out->key))
			return -1;
		memcpy(out->key, p, key);
		p += key + 1;
	}
	if (!copy_value(&p, out->value, sizeof(out->value)))
		return -1;
	*at = *p ? p + 1 : p;
	return 1;
}

void qemu_list_put(FILE *to, const char *key, const char *value)
{
	if (ftell(to) > 0)
		fputc(',', to);
	if (*key)
		fprintf(to, "%s=", key);
	for (; *value; value++) {
		fputc(*value, to);
		if (*value == ',')
			fputc(',', to);
	}
}
