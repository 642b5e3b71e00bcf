/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/who.h"

#include <pwd.h>
#include <stdlib.h>

#include "base/compiler.h"

enum { PASSWD_MAX = 16 * 1024 };

json_t *who_json(uid_t uid)
{
	_cleanup_free_ char *room = malloc(PASSWD_MAX);
	struct passwd entry, *found = NULL;

	if (room && getpwuid_r(uid, &entry, room, PASSWD_MAX, &found) == 0 && found)
		return json_sprintf("%s (uid %u)", found->pw_name, (unsigned)uid);
	return json_sprintf("(uid %u)", (unsigned)uid);
}
