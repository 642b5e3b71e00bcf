/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_control: the broker's answers to the supervisor (io/requests.h; docs/protocol.md,
 * "Supervisor and broker").
 */
#ifndef SG_BROKER_BROKER_CONTROL_H
#define SG_BROKER_BROKER_CONTROL_H

#include "broker/context.h"
#include "io/requests.h"

/* Takes over the descriptor. Before isolation. NULL without memory. */
struct requests *broker_control_new(struct broker *b, int fd);

#endif
