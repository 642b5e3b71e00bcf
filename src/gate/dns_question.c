/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dns_question.h"

#include <string.h>

enum { TCP_PREFIX = 2, MESSAGE_MAX = 65535 };

void question_decide(struct question *qn)
{
	struct destination dest = {
		.kind = DEST_LOOKUP, .name = qn->name, .by_proxy = qn->client->by_proxy};

	decide(question_rules(qn), qn->desk->config.host, &dest, &qn->verdict);
}

void question_begin(const struct question *qn, enum dns_rcode rcode, struct dns_builder *d)
{
	size_t size = qn->client->tcp ? MESSAGE_MAX : qn->q->udp_size;

	dns_build_begin(d, qn->q, rcode, qn->desk->message + TCP_PREFIX, size);
}

/* Of one over TCP the connection is what a capture knows. */
static struct exchange exchange_of(const struct question *qn)
{
	return (struct exchange){
		.near = qn->client->tcp || qn->client->by_proxy ? NULL : &qn->client->from,
		.far = &qn->client->to,
		.proto = IPPROTO_UDP,
		.lookup = true,
		.dns_id = qn->q->id,
	};
}

static struct event allowed(const struct question *qn)
{
	return (struct event){.kind = RECORD_ALLOW,
			      .proto = RECORD_DNS,
			      .name = qn->name,
			      .rule = qn->verdict.rule,
			      .exchange = exchange_of(qn)};
}

static void note_allowed(const struct question *qn)
{
	struct event e = allowed(qn);

	if (!qn->client->by_proxy)
		journal_note(qn->desk->config.journal, &e);
}

void question_tell_admitted(const struct question *qn)
{
	struct event e;

	if (!journal_is_recorded(qn->desk->config.journal))
		return;
	e = allowed(qn);
	journal_tell(qn->desk->config.journal, &e, VERDICT_ALLOW, NULL);
}

/* Each question ends here, in one of the three counters when it is the sandbox's. */
static void finish(const struct question *qn, struct dns_builder *d, enum reason why,
		   uint64_t *counter)
{
	const struct dns_server_config *c = &qn->desk->config;
	struct span m = dns_build_end(d);

	if (!qn->client->by_proxy)
		(*counter)++;
	if (qn->client->tcp) {
		qn->desk->message[0] = (uint8_t)(m.n >> 8);
		qn->desk->message[1] = (uint8_t)m.n;
		m = span_of(qn->desk->message, TCP_PREFIX + m.n);
	}
	c->reply(c->ctx, qn->client, why, m);
}

void question_answer(const struct question *qn, struct dns_builder *d)
{
	note_allowed(qn);
	finish(qn, d, REASON_NONE, &qn->desk->config.counters->answered);
}

void question_own_soa(const struct question *qn, enum dns_rcode rcode, struct dns_builder *d,
		      uint32_t ttl)
{
	struct dns_wire_name zone = qn->q->qname;
	size_t label = (size_t)zone.b[0] + 1;

	/* The zone of a name that does not exist is above it (RFC 2308, 2.1). */
	if (rcode == DNS_NXDOMAIN && zone.b[0]) {
		zone.n -= (uint8_t)label;
		memmove(zone.b, zone.b + label, zone.n);
	}
	dns_build_own_soa(d, &zone, ttl);
}

void question_reply_absent(const struct question *qn, enum dns_rcode rcode, uint32_t ttl)
{
	struct dns_builder d;

	question_begin(qn, rcode, &d);
	question_own_soa(qn, rcode, &d, ttl);
	question_answer(qn, &d);
}

void question_reply_nodata(const struct question *qn)
{
	question_reply_absent(qn, DNS_NOERROR, DNS_ABSENT_TTL);
}

void question_reply_failed(const struct question *qn)
{
	struct dns_builder d;

	question_begin(qn, DNS_SERVFAIL, &d);
	dns_build_ede(&d, DNS_EDE_NO_REACHABLE_AUTHORITY, reason_sentence(REASON_RESOLVER_FAILED));
	note_allowed(qn);
	finish(qn, &d, REASON_RESOLVER_FAILED, &qn->desk->config.counters->failed);
}

/*
 * The name to count a refusal under: the suffix, when the name is a retry with the search list of
 * one that is asked for as well.
 */
static const struct name *name_to_note(const struct question *qn)
{
	const struct name *suffix;
	struct name stem;
	struct addr a;

	if (!qn->name)
		return NULL;
	suffix = search_list_split(&qn->desk->search_list, qn->name, &stem);
	if (suffix && (search_list_was_asked(&qn->desk->search_list, &stem) ||
		       names_real_addresses(qn->desk->config.names, &stem, qn->now, &a, 1)))
		return suffix;
	return qn->name;
}

void question_note_refusal(const struct question *qn, enum reason reason, const struct addr *a)
{
	if (qn->client->by_proxy)
		return;
	journal_note(qn->desk->config.journal, &(struct event){.kind = RECORD_DENY,
							       .proto = RECORD_DNS,
							       .reason = reason,
							       .name = qn->name,
							       .addr = a,
							       .rule = qn->verdict.rule,
							       .counted_as = name_to_note(qn),
							       .exchange = exchange_of(qn)});
}

/* The remedy for a person who reads it, or at least the reason. */
static void put_reason(const struct question *qn, struct dns_builder *d, enum reason reason,
		       char remedy[REMEDY_MAX])
{
	struct destination dest = {.kind = DEST_LOOKUP, .name = qn->name};

	remedy[0] = 0;
	if (qn->name)
		remedy_format(qn->desk->config.remedy, &dest, reason, remedy);
	dns_build_ede(d, DNS_EDE_BLOCKED, remedy[0] ? remedy : reason_sentence(reason));
}

void question_refuse(const struct question *qn, enum reason reason)
{
	bool nxdomain = question_policy(qn)->dns_refusal == DNS_REFUSAL_NXDOMAIN;
	enum dns_rcode rcode = nxdomain ? DNS_NXDOMAIN : DNS_REFUSED;
	char remedy[REMEDY_MAX];
	struct dns_builder d;

	question_note_refusal(qn, reason, NULL);
	question_begin(qn, rcode, &d);
	put_reason(qn, &d, reason, remedy);
	if (nxdomain)
		question_own_soa(qn, rcode, &d, NAMES_TTL_MIN);
	finish(qn, &d, reason, &qn->desk->config.counters->refused);
}

/* A message that is no question: the answer says so, whatever `dns_refusal` is. */
void question_refuse_message(const struct question *qn, enum dns_rcode rcode)
{
	enum reason reason = rcode == DNS_REFUSED ? REASON_DNS_TYPE : REASON_MALFORMED_DNS;
	struct dns_builder d;

	question_note_refusal(qn, reason, NULL);
	question_begin(qn, rcode, &d);
	if (rcode == DNS_REFUSED)
		dns_build_ede(&d, DNS_EDE_BLOCKED, reason_sentence(reason));
	finish(qn, &d, reason, &qn->desk->config.counters->refused);
}

/* No command to allow it is given: whoever owns the name chose the address. */
void question_reply_withheld(const struct question *qn)
{
	static const char reason[] =
		"allowed name resolved to a private, loopback or link-local address";
	struct dns_builder d;

	question_begin(qn, DNS_NOERROR, &d);
	dns_build_ede(&d, DNS_EDE_BLOCKED, reason);
	question_own_soa(qn, DNS_NOERROR, &d, NAMES_TTL_MIN);
	finish(qn, &d, REASON_SPECIAL_ADDRESS, &qn->desk->config.counters->refused);
}
