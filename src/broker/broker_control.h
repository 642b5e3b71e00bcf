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

/*
 * Sees to it that some authority is for each name that requests under these rules may have to be
 * seen of (authorities_cover()).
 */
int broker_control_cover_names(struct broker *b, const struct ruleset *rules,
			       struct err *e) sg_must_check;
enum { RENEWAL_TIMERS = 1 };

/* Does it again every day, from now on, and tells. */
void broker_control_renew_daily(struct broker *b);
/* {"op":op,"authority":PEM of all}. False when the supervisor is gone. */
bool broker_control_say_authority(const struct broker *b, const char *op);

#endif
