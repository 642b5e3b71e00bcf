/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresher: carries what refresh.h makes: it asks token endpoints for new access tokens, over
 * connections that the gate dials, to servers that are verified as any other.
 */
#ifndef SG_BROKER_REFRESHER_H
#define SG_BROKER_REFRESHER_H

#include "broker/context.h"

enum {
	REFRESHES_MAX = 4, /* at once; of each credential one */
	REFRESHER_TIMERS = REFRESHES_MAX + 1,
};

/* NULL: no memory. */
struct refresher *refresher_new(struct broker *b);
void refresher_free(struct refresher *r);

/* Begins what is wanted (vault_next_refresh()) and not under way. Nothing is waited for. */
void refresher_start(struct refresher *r);

/* What is wanted will be so later by itself: at the time that the vault says. */
void refresher_look_ahead(struct refresher *r);

/* The gate's answer to a dial: true when it was one of these, and the descriptor is taken. */
bool refresher_dialled(struct refresher *r, uint32_t dial, int fd, int error);

/* The gate is gone, and with it the dials that it was asked for: the next request asks again. */
void refresher_cut(struct refresher *r);

#endif
