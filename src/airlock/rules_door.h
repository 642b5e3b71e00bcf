/* SPDX-License-Identifier: Apache-2.0 */
/* rules_door: what the airlock's rules are beside the others where there is a door0. */
#ifndef SG_AIRLOCK_RULES_DOOR_H
#define SG_AIRLOCK_RULES_DOOR_H

#include <stddef.h>

/* Lines as those of rules.c, to be loaded after them in the same transaction. */
extern const char *const rules_door[];
extern const size_t rules_door_n;

#endif
