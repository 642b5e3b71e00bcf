/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerun: the command that would have let the refused through, as a person can run it.
 */
#ifndef SG_SANDBOX_RERUN_H
#define SG_SANDBOX_RERUN_H

#include <stdio.h>

#include "policy/suggest.h"
#include "sandbox/run.h"

/*
 * "sandgate: to allow it: " and the command line of `o` once more with every remedy, if there is
 * any.
 */
void rerun_put(FILE *to, const struct suggestions *s, const struct run_options *o);

/*
 * "sandgate: to allow it: sandgate net allow NAME ITEM..." likewise; what only a new start can
 * change (a port of the host's, a link where there was none) is left out.
 */
void rerun_put_change(FILE *to, const struct suggestions *s, const char *name);

#endif
