/* SPDX-License-Identifier: Apache-2.0 */
/* secret_from: where a secret comes from, as a policy writes it. Pure: nothing is read. */
#ifndef SG_POLICY_SECRET_FROM_H
#define SG_POLICY_SECRET_FROM_H

#include "base/err.h"

enum secret_kind {
	SECRET_ENV,	/* env:NAME, of the one who starts the sandbox */
	SECRET_FILE,	/* file:PATH, absolute or below ~/ */
	SECRET_COMMAND, /* command:PROGRAM ARGUMENT..., without a shell */
	SECRET_KEYRING, /* keyring:SERVICE or keyring:SERVICE/ACCOUNT */
	SECRET_GIT,	/* git: `git credential fill`; at GitHub `gh auth token` before it */
	SECRET_KINDS,
};

enum { SECRET_FROM_MAX_OCTETS = 1024, SECRET_ARGUMENTS_MAX = 32 };

/* `*rest` (may be NULL) gets what follows the colon. 0, or -1 with a sentence piece. */
int secret_from_parse(const char *text, enum secret_kind *kind, const char **rest,
		      struct err *e) sg_must_check;

#endif
