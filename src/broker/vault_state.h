/* SPDX-License-Identifier: Apache-2.0 */
/* vault_state: what the files of the vault share. */
#ifndef SG_BROKER_VAULT_STATE_H
#define SG_BROKER_VAULT_STATE_H

#include "broker/shapes.h"
#include "broker/placeholder.h"
#include "broker/vault.h"

enum { WHY_MAX = 256 };

/* In locked memory, of `size` octets in all. */
struct part {
	size_t size;
	struct span secret;
	struct shapes shapes;
	uint8_t octets[]; /* the secret, then its shapes */
};

enum held_state { HELD_WANTED, HELD_READY, HELD_FAILED };

struct held {
	struct name host;
	enum held_state state;
	int64_t expires_at; /* 0: never */
	struct part *part[SECRET_PARTS];
	char placeholder[PLACEHOLDER_N + 1];
	char shown[CREDENTIAL_TEXT_MAX];
	char why[WHY_MAX]; /* of HELD_FAILED */
};

struct vault {
	struct credential_list list;
	struct held *held; /* one for each */
	uint8_t *scratch;  /* locked; wiped after each use */
	char why[WHY_MAX];
};

enum { VAULT_SCRATCH = 2 * MESSAGE_HEAD_MAX };

/* The state now: a value whose time is over is wanted again. */
enum held_state held_state_now(const struct held *h);

static inline struct span part_span(const struct part *p)
{
	return p ? p->secret : span_of(NULL, 0);
}

#endif
