/* SPDX-License-Identifier: Apache-2.0 */
/* person: a test becomes a person without root's rights, who has a folder of their own. */
#ifndef SG_TESTS_UNIT_PERSON_H
#define SG_TESTS_UNIT_PERSON_H

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PERSON = 54321 };

/* Makes the folder, gives it to the person, and becomes them; `variable` names it. 0 or -1. */
static inline int person_become(const char *variable, char folder[64])
{
	strcpy(folder, "/tmp/sandgate-unit-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	if (geteuid() == 0 && (chown(folder, PERSON, PERSON) || setresgid(PERSON, PERSON, PERSON) ||
			       setresuid(PERSON, PERSON, PERSON)))
		return -1;
	/* Cleared by the change of user, and needed for /proc/self. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return setenv(variable, folder, 1);
}

#endif
