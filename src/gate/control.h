/* SPDX-License-Identifier: Apache-2.0 */
/* control: the gate's answers to the supervisor (io/requests.h; docs/protocol.md). */
#ifndef SG_GATE_CONTROL_H
#define SG_GATE_CONTROL_H

#include "gate/context.h"
#include "io/requests.h"

/* Takes over the descriptor. Before isolation. NULL without memory. */
struct requests *control_new(struct gate *g, int fd);

#endif
