/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_answer: from the name table, the hosts file or the upstream to a reply. Vets every
 * address and binds it to the name before the sandbox sees it. Internal to the DNS server.
 */
#ifndef SG_GATE_DNS_ANSWER_H
#define SG_GATE_DNS_ANSWER_H

#include "gate/dns_question.h"

/* Replies from the table, when it still has an answer that all of the present policy admits. */
bool dns_answer_kept(const struct question *qn, enum names_type type);

/* Vets, binds and replies with addresses of the asked family. */
void dns_answer_addrs(const struct question *qn, const struct addr *addrs, size_t n, uint32_t ttl);

/* Replies with what the upstream said about an admitted name. */
void dns_answer_upstream(const struct question *qn, const struct dns_message *answer);

#endif
