/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_mask: the begin of an answer's body on its way through the mask (credential.h), in the
 * body's own ring.
 */
#ifndef SG_BROKER_ANSWER_MASK_H
#define SG_BROKER_ANSWER_MASK_H

#include "broker/body.h"
#include "broker/credential.h"

struct answer_mask {
	struct mask *mask; /* NULL: nothing is masked, or no more */
	uint64_t passed;   /* octets that went through it */
};

/*
 * Looks at what came into the body since the last time. What may be the begin of an echo is held
 * back in it (body.held) until more comes, or its end. Without memory the body has failed.
 */
void answer_mask_look(struct answer_mask *m, struct body *b);
void answer_mask_free(struct answer_mask *m);

#endif
