/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_home: HOME inside a sandbox that has a name, which outlives its runs.
 *
 * What lies in it is the sandbox's making, links to anywhere and folders of any mode among it. The
 * engine makes the places for its mounts by path, with the person's rights: so they are made here
 * before, with no link followed, while nothing of the sandbox runs.
 */
#ifndef SG_SANDBOX_KEPT_HOME_H
#define SG_SANDBOX_KEPT_HOME_H

#include "base/err.h"
#include "sandbox/files/file_system.h"

/* Makes it if need be. A descriptor, `path` without links; -1 with the message. */
int kept_home_open(const char *sandbox, char path[PATH_MAX], struct err *e);

/* Makes the place of each mount of the plan that lies in HOME. 0, or -1 with the message. */
int kept_home_prepare(int home, const struct file_plan *p, const struct tree *host,
		      struct err *e) sg_must_check;

#endif
