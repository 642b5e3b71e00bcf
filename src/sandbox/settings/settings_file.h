/* SPDX-License-Identifier: Apache-2.0 */
/* settings_file: config.yaml of this user, changed. */
#ifndef SG_SANDBOX_SETTINGS_FILE_H
#define SG_SANDBOX_SETTINGS_FILE_H

#include "sandbox/settings/settings.h"

/*
 * Sets one key of this user's own file, or takes it out when `value` is NULL, under a lock; the
 * file is replaced whole, and is not touched when nothing would change. `*changed` says whether it
 * was. 0 or -1 with the message.
 */
int settings_file_set(size_t key, const char *value, bool *changed, struct err *e) sg_must_check;

#endif
