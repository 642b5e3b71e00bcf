/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/home.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/person.h"

const char *home_find(void)
{
	const char *home = getenv("HOME");
	const struct passwd *entry = home ? NULL : getpwuid(person_uid());

	return entry ? entry->pw_dir : home;
}
