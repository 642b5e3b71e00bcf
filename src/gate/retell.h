/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retell: a capture has begun while flows are open: its recorder is told of each, as fast as it
 * reads, and of what is decided meanwhile at once.
 */
#ifndef SG_GATE_RETELL_H
#define SG_GATE_RETELL_H

#include "gate/context.h"

struct retell;

struct retell *retell_new(struct gate *g); /* NULL without memory */

/* From the first again. */
void retell_begin(struct retell *r);

#endif
