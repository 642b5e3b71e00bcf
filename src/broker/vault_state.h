/* SPDX-License-Identifier: Apache-2.0 */
/* vault_state: what the files of the vault share. */
#ifndef SG_BROKER_VAULT_STATE_H
#define SG_BROKER_VAULT_STATE_H

#include "broker/shapes.h"
#include "broker/placeholder.h"
#include "broker/vault.h"

enum { WHY_MAX = 256, PUT_MAX = 2 * CREDENTIAL_TEXT_MAX };

/* In locked memory, of `size` octets in all. */
struct part {
	size_t size;
	struct span secret;
	struct shapes shapes;
	uint8_t octets[]; /* the secret, then its shapes */
};

enum held_state { HELD_WANTED, HELD_READY, HELD_FAILED, HELD_ENDED };

enum { RETRY_SECONDS = 30, RETRY_MAX_SECONDS = 600 };

struct held {
	struct name host;
	enum held_state state;
	int64_t expires_at; /* of HELD_READY; 0: never */
	int64_t renew_at;   /* of HELD_READY with an end: a new value is wanted from then on */
	int64_t retry_at;   /* after a failure: nothing is asked before */
	unsigned failures;  /* of its token endpoint, in a row */
	bool used;	    /* the value, by some request */
	struct part *part[SECRET_PARTS];
	char placeholder[PLACEHOLDER_N + 1];
	char shown[CREDENTIAL_TEXT_MAX];
	char why[WHY_MAX]; /* of the last failure, and of HELD_ENDED */
};

struct vault {
	struct credential_list list;	 /* by number: all that there were */
	struct held *held;		 /* one for each */
	uint16_t order[CREDENTIALS_MAX]; /* numbers of those in force, as they are looked at */
	size_t n_order;
	uint8_t seed[PLACEHOLDER_SEED];
	uint8_t *scratch; /* locked; wiped after each use */
	char why[WHY_MAX];
	char put[PUT_MAX]; /* the places of what the last request got */
	struct vault_set uses;
};

enum { VAULT_SCRATCH = 2 * MESSAGE_HEAD_MAX };

/* What is over by then, a value or the wait after a failure, is wanted again. `now` in seconds
 * since 1970. */
enum held_state held_state_at(const struct held *h, int64_t now);

static inline struct span part_span(const struct part *p)
{
	return p ? p->secret : span_of(NULL, 0);
}

#endif
