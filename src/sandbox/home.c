/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/home.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

const char *home_find(void)
{
	const char *home = getenv("HOME");
	const struct passwd *entry = home ? NULL : getpwuid(geteuid());

	return entry ? entry->pw_dir : home;
}
