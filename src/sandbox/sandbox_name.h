/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_name: the name of a sandbox, [a-z0-9][a-z0-9-]{0,62}, and making one from a folder. */
#ifndef SG_SANDBOX_SANDBOX_NAME_H
#define SG_SANDBOX_SANDBOX_NAME_H

#include <stdbool.h>

enum { SANDBOX_NAME_MAX = 63, SANDBOX_NAME_SIZE = SANDBOX_NAME_MAX + 1 };

/* The form is right and it is no word of the command line. */
bool sandbox_name_valid(const char *s);

/*
 * From the last part of a path: lower case, everything else a hyphen, none at the ends or in a
 * row; "sandbox" when nothing is left. Returns out. It may be a reserved word: see
 * sandbox_name_valid.
 */
char *sandbox_name_from_path(const char *path, char out[SANDBOX_NAME_SIZE]);

/* "base-N", shortened before the hyphen when it would be too long. Returns out. */
char *sandbox_name_numbered(const char *base, unsigned n, char out[SANDBOX_NAME_SIZE]);

#endif
