/* SPDX-License-Identifier: Apache-2.0 */
/* strings: NULL-terminated lists of strings that own their strings; NULL is the empty list. */
#ifndef SG_POLICY_STRINGS_H
#define SG_POLICY_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

void string_list_free(char **list);

/* NULL without memory; `list` is not NULL. */
char **string_list_copy(char *const *list);

size_t string_list_length(char *const *list);
bool string_list_has(char *const *list, const char *s);
bool string_list_equal(char *const *a, char *const *b);

/* Puts a copy of s at the end, also when it is there already. 0 or -ENOMEM, then nothing changed.
 */
int string_list_add(char ***list, const char *s) sg_must_check;

/* Takes every s out; a list without strings becomes NULL. True when there was one. */
bool string_list_remove(char ***list, const char *s);

#endif
