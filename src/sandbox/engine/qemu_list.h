/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu_list: QEMU's lists of properties, "key=value,key=value", where a comma in a value is written
 * twice. Pure.
 */
#ifndef SG_SANDBOX_QEMU_LIST_H
#define SG_SANDBOX_QEMU_LIST_H

#include <limits.h>
#include <stdio.h>

enum { QEMU_KEY_MAX = 64 };

struct qemu_property {
	char key[QEMU_KEY_MAX]; /* empty: a value alone, which QEMU has a key for */
	char value[PATH_MAX];
};

/* The next one, which *at then is behind. 1; 0 at the end; -1 when it does not fit. */
int qemu_list_next(const char **at, struct qemu_property *out);

/* Puts it, after a comma when it is not the first. */
void qemu_list_put(FILE *to, const char *key, const char *value);

#endif
