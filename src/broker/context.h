/* SPDX-License-Identifier: Apache-2.0 */
/* context: the parts of one broker, made once by broker.c and found by all its modules. */
#ifndef SG_BROKER_CONTEXT_H
#define SG_BROKER_CONTEXT_H

#include "broker/exchange.h"
#include "broker/patience.h"
#include "broker/tls.h"
#include "broker/vault.h"
#include "io/loop.h"

struct broker {
	struct loop *loop;
	struct ruleset *ruleset; /* what rules.judge.rules is */
	struct host_prefixes *host;
	struct exchange_rules rules;
	struct request_log log;
	struct patience patience;
	struct tls_store *store;
	struct authorities *authorities;
	struct timer renewal; /* of them */
	struct connections *connections;
	struct gate_door *door;
	struct requests *control;
	const uint8_t *placeholder_seed; /* of the setup */
	struct refresher *refresher;
	struct parent *parent;	  /* NULL: the host has to use none */
	uint8_t asked[VAULT_MAX]; /* which sources the supervisor was asked for */
	bool told[VAULT_MAX];	  /* that the token endpoint fails */
};

#endif
