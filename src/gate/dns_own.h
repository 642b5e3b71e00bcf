/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_own: what the gate answers by itself, whatever the policy says: names with a meaning of
 * their own, and reverse names. Internal to the DNS server.
 */
#ifndef SG_GATE_DNS_OWN_H
#define SG_GATE_DNS_OWN_H

#include "gate/dns_question.h"

enum dns_own {
	OWN_NOT, /* an ordinary name: the policy judges it */
	OWN_ANSWERED,
	OWN_ASK, /* a reverse name that the policy admits: the resolver is to be asked */
};

enum dns_own dns_own_answer(struct question *qn);

#endif
