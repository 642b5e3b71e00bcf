/* SPDX-License-Identifier: Apache-2.0 */
/* parts: makes what a gate consists of, in the order of its needs. */
#ifndef SG_GATE_PARTS_H
#define SG_GATE_PARTS_H

#include "gate/context.h"
#include "gate/gate.h"

/*
 * Fills g, which is zeroed but for `sandbox` and `rules`. Takes over the descriptors of s. All that
 * has to be read from a file is read here. 0 or -1 with a message; a gate that is half made is
 * only good to exit with.
 */
int parts_make(struct gate *g, const struct gate_setup *s, struct err *e) sg_must_check;

#endif
