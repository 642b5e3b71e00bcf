/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_helper: the children of the keeper, each of which does one part of an airlock while the
 * keeper does others, and sends what came of it.
 *
 *	side	the sandbox's end of the link; it may stay as the door
 *	door	the door alone, from the airlock
 *	loader	the rules, and takes with it the memory that nftables needs
 *
 * Whichever it is, its last message before it ends or becomes the door is MESSAGE_FAILED, with the
 * reason, or the one that says that its part is done. All of them end with the keeper.
 */
#ifndef SG_AIRLOCK_KEEPER_HELPER_H
#define SG_AIRLOCK_KEEPER_HELPER_H

#include "airlock/airlock_message.h"
#include "airlock/plan.h"

struct keeper_helper {
	pid_t pid; /* 0: there is none */
	int sock;  /* SOCK_SEQPACKET, of airlock_message.h; the keeper's to close */
};

/*
 * These fork: 0 in the keeper alone, or -1 with the message. The helper is in the namespaces that
 * the keeper is in. `netns` is a namespace that is there already, for the link to be placed into;
 * -1: there is none.
 */
int keeper_helper_start_side(struct keeper_helper *h, const struct airlock_plan *p, int netns,
			     struct err *e) sg_must_check;
int keeper_helper_start_door(struct keeper_helper *h, const struct airlock_plan *p,
			     struct err *e) sg_must_check;
int keeper_helper_start_loader(struct keeper_helper *h, const struct airlock_plan *p,
			       struct err *e) sg_must_check;

/*
 * The helper's next message, within a deadline. 0 when it is of this kind, and what came with it is
 * the caller's; or -1 with the message: the helper's own where it has failed.
 */
int keeper_helper_await(const struct keeper_helper *h, enum airlock_message_kind kind,
			struct airlock_message *m, struct err *e) sg_must_check;

#endif
