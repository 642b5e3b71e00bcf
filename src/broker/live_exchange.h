/* SPDX-License-Identifier: Apache-2.0 */
/* live_exchange: what the files of exchanges share; the theory is in exchange.c. */
#ifndef SG_BROKER_LIVE_EXCHANGE_H
#define SG_BROKER_LIVE_EXCHANGE_H

#include "base/clock.h"
#include "broker/answer_mask.h"
#include "broker/exchange.h"
#include "broker/vault.h"

enum phase { COLLECTING, WAITING, SENT, ANSWERED, REFUSED };

struct live_exchange {
	struct exchange x; /* first: codecs know it by that */
	struct exchanges *all;
	struct live_exchange *next, **link;
	enum phase phase;
	struct codec *upstream; /* NULL: that side is not on */
	bool client_on;
	bool is_over;
	bool is_signed; /* the credential is a signature over the body, which is collected for it */
	struct message request; /* as it came */
	struct request_verdict verdict;
	uint8_t *body; /* that decided, when one had to; body_n octets, for the next policy */
	size_t body_n;
	struct answer_mask mask;
	const char *credential; /* that is added to it, of the vault; NULL: none */
	struct vault_set uses;	/* the same by numbers */
	struct record record;
	mono_t begun;
	mono_t held; /* since when it waits for the audit log; 0: it does not */
};

/* ---- exchange.c ---- */

void live_set_phase(struct live_exchange *l, enum phase phase);
/* Cut a side that is on: its peer must not take it for an end. */
void live_cut_upstream(struct live_exchange *l);
void live_cut(struct live_exchange *l);

/* ---- exchange_verdict.c: what is judged, sent, and answered by us ---- */

/* Judges the request by its head, and acts: it is sent, refused, or more of it is collected. */
void live_judge_head(struct live_exchange *l);
/* The same with what was collected of its body. */
void live_judge_collected(struct live_exchange *l);
/*
 * The same by another policy, with the body that decided. What was answered already is cut, and so
 * is what got a credential that is no more.
 */
void live_judge_again(struct live_exchange *l);
/* Sends what was admitted, if it can be now. */
void live_send(struct live_exchange *l);
/* The audit log was closed for too long. */
void live_refuse_for_log(struct live_exchange *l);
/* Nothing came of it: the answer says why. */
void live_answer_failure(struct live_exchange *l, const struct upstream_failure *failure);
/* What came of the body, and what still comes, is for nobody. */
void live_throw_body_away(struct live_exchange *l);

#endif
