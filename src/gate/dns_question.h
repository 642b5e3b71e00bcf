/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_question: one question of the sandbox while it is worked on, and the replies it can end in.
 *
 * Internal to the DNS server. Each question ends in exactly one reply, which is counted once.
 */
#ifndef SG_GATE_DNS_QUESTION_H
#define SG_GATE_DNS_QUESTION_H

#include "gate/dns_server.h"
#include "gate/search_list.h"

enum {
	DNS_OWN_TTL = 60,    /* of answers that the gate makes itself */
	DNS_ABSENT_TTL = 30, /* of the gate's own "there is none" */
};

/* What all questions share. */
struct dns_desk {
	struct dns_server_config config;
	struct search_list search_list;
	uint8_t message[2 + 65535]; /* the one being built; 2 octets of length for TCP before it */
};

struct question {
	struct dns_desk *desk;
	const struct dns_client *client;
	const struct dns_query *q;
	const struct name *name; /* NULL: there is none that could be judged */
	mono_t now;
	struct verdict verdict; /* of the name, from question_decide() */
};

static inline const struct ruleset *question_rules(const struct question *qn)
{
	return *qn->desk->config.rules;
}

static inline const struct policy *question_policy(const struct question *qn)
{
	return ruleset_policy(question_rules(qn));
}

static inline bool question_is_synthetic(const struct question *qn)
{
	return question_policy(qn)->dns_answers == DNS_ANSWERS_SYNTHETIC;
}

/* Judges the name under the present policy. */
void question_decide(struct question *qn);

/* A reply of one's own: begin, records, then answer; or withhold, when it is a refusal. */
void question_begin(const struct question *qn, enum dns_rcode rcode, struct dns_builder *d);
void question_own_soa(const struct question *qn, enum dns_rcode rcode, struct dns_builder *d,
		      uint32_t ttl);
void question_answer(const struct question *qn, struct dns_builder *d);

/* NODATA or NXDOMAIN with an SOA of the gate's own. */
void question_reply_absent(const struct question *qn, enum dns_rcode rcode, uint32_t ttl);
void question_reply_nodata(const struct question *qn);

/* The resolver did not answer: SERVFAIL, which is no refusal. */
void question_reply_failed(const struct question *qn);

/* For a capture: it has been admitted, and the answer may take a while. */
void question_tell_admitted(const struct question *qn);

/* Notes it, and answers as `dns_refusal` says, with the remedy. */
void question_refuse(const struct question *qn, enum reason reason);

/* Every address points inward: an empty answer that says so. Notes nothing. */
void question_reply_withheld(const struct question *qn);

/* A message that is no question to answer here, whatever `dns_refusal` is. */
void question_refuse_message(const struct question *qn, enum dns_rcode rcode);

/* Notes a refusal without a reply. `a` may be NULL. */
void question_note_refusal(const struct question *qn, enum reason reason, const struct addr *a);

#endif
