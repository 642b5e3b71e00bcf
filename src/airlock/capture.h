/* SPDX-License-Identifier: Apache-2.0 */
/* capture: the packet socket that sees every frame of the link, both ways. */
#ifndef SG_AIRLOCK_CAPTURE_H
#define SG_AIRLOCK_CAPTURE_H

#include <stdint.h>

#include "base/compiler.h"

/*
 * With the ring of capture_ring.h, which whoever reads it maps, bound to link0, whose index that is;
 * what came before the device was up is in it as well. The descriptor or -errno.
 */
int capture_open(uint32_t link) sg_must_check;

#endif
