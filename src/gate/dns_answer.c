/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses are answered under the asked name, without the CNAMEs that led to them: the policy is
 * about the asked name, and those behind it are not names that the sandbox may ask for.
 *
 * An address is seen by the sandbox only if address_admissible() says so at that moment, whether it
 * is fresh or was kept.
 */
#include "gate/dns_answer.h"

#include "gate/dns_special.h"
#include "gate/dns_svcb.h"

static bool is_v4_question(const struct question *qn)
{
	return qn->q->qtype == DNS_A;
}

/* A mapped address (RFC 4291, 2.5.5.2) in an AAAA record is none that could be dialled as IPv6. */
static bool is_admissible(const struct question *qn, const struct addr *a)
{
	return addr_is_v4(a) == is_v4_question(qn) &&
	       address_admissible(question_rules(qn), qn->desk->config.host, &qn->verdict, a);
}

static void put_addrs(const struct question *qn, struct dns_builder *d, const struct addr *addrs,
		      size_t n, uint32_t ttl)
{
	struct addr synthetic;

	if (n && question_is_synthetic(qn)) {
		synthetic = names_synthetic(qn->desk->config.names, qn->name, is_v4_question(qn),
					    qn->now);
		addrs = &synthetic;
		n = 1;
	}
	for (size_t i = 0; i < n; i++)
		dns_build_addr(d, &addrs[i], ttl);
}

static void reply_addrs(const struct question *qn, const struct addr *addrs, size_t n, uint32_t ttl)
{
	struct dns_builder d;

	question_begin(qn, DNS_NOERROR, &d);
	put_addrs(qn, &d, addrs, n, ttl);
	question_answer(qn, &d);
}

/*
 * What passes of a fresh answer. An IPv6 address that the host has no route to is left out: a
 * program would try it first and lose time. *withheld is the first address that points inward.
 */
static size_t vet(const struct question *qn, const struct addr *addrs, size_t n,
		  struct addr kept[NAMES_ANSWER_MAX], const struct addr **withheld)
{
	const struct resolver *resolver = qn->desk->config.resolver;
	bool v4 = is_v4_question(qn);
	size_t n_kept = 0;

	*withheld = NULL;
	for (size_t i = 0; i < n && n_kept < NAMES_ANSWER_MAX; i++) {
		if (is_admissible(qn, &addrs[i])) {
			if (v4 || resolver_has_route(resolver, &addrs[i]))
				kept[n_kept++] = addrs[i];
		} else if (!*withheld) {
			*withheld = &addrs[i];
		}
	}
	return n_kept;
}

/* What was withheld entirely is not kept, so that each lookup of it is counted. */
void dns_answer_addrs(const struct question *qn, const struct addr *addrs, size_t n, uint32_t ttl)
{
	enum names_type type = is_v4_question(qn) ? NAMES_A : NAMES_AAAA;
	struct addr kept[NAMES_ANSWER_MAX];
	const struct addr *withheld;
	size_t n_kept = vet(qn, addrs, n, kept, &withheld);

	if (withheld)
		question_note_refusal(qn, REASON_SPECIAL_ADDRESS, withheld);
	if (n_kept == 0 && withheld) {
		question_reply_withheld(qn);
		return;
	}
	ttl = names_clamp_ttl(ttl);
	names_bind(qn->desk->config.names, qn->name, type, kept, n_kept, ttl,
		   question_is_synthetic(qn) ? NAMES_FOR_DIAL : NAMES_SHOWN, qn->now);
	if (n_kept)
		reply_addrs(qn, kept, n_kept, ttl);
	else
		question_reply_absent(qn, DNS_NOERROR, ttl);
}

/* From the table, when it still has an answer that all of the present policy admits. */
bool dns_answer_kept(const struct question *qn, enum names_type type)
{
	struct names_answer kept;

	names_answer(qn->desk->config.names, qn->name, type, qn->now, &kept);
	switch (kept.state) {
	case NAMES_ADDRESSES:
		if (!kept.shown && !question_is_synthetic(qn))
			return false;
		for (size_t i = 0; i < kept.n; i++)
			if (!is_admissible(qn, &kept.addrs[i]))
				return false;
		reply_addrs(qn, kept.addrs, kept.n, kept.ttl);
		return true;
	case NAMES_NODATA:
		question_reply_absent(qn, DNS_NOERROR, kept.ttl);
		return true;
	case NAMES_NXDOMAIN:
		question_reply_absent(qn, DNS_NXDOMAIN, kept.ttl);
		return true;
	default:
		return false;
	}
}

/* Vetted addresses of the asked name that may stand in hints: those of an A or AAAA answer. */
static size_t hint_addrs(const struct question *qn, bool v4, struct addr out[NAMES_ANSWER_MAX])
{
	struct names *names = qn->desk->config.names;
	struct names_answer kept;
	size_t n = 0;

	names_answer(names, qn->name, v4 ? NAMES_A : NAMES_AAAA, qn->now, &kept);
	if (kept.state != NAMES_ADDRESSES || (!kept.shown && !question_is_synthetic(qn)))
		return 0;
	for (size_t i = 0; i < kept.n; i++)
		if (address_admissible(question_rules(qn), qn->desk->config.host, &qn->verdict,
				       &kept.addrs[i]))
			out[n++] = kept.addrs[i];
	if (n && question_is_synthetic(qn)) {
		out[0] = names_synthetic(names, qn->name, v4, qn->now);
		n = 1;
	}
	return n;
}

static bool is_lookup_admitted(const struct question *qn, const struct name *name)
{
	struct destination dest = {.kind = DEST_LOOKUP, .name = name};
	struct verdict v;

	decide(question_rules(qn), qn->desk->config.host, &dest, &v);
	return v.allow && dns_special_find(name) == DNS_SPECIAL_NONE;
}

enum target { TARGET_OWNER, TARGET_OTHER, TARGET_REFUSED };

/* RFC 9460, 2.5: the root stands for the owner, or in AliasMode for "no such service". */
static enum target judge_target(const struct question *qn, const struct dns_svcb *s,
				struct name *out)
{
	if (dns_name_from_wire(&s->target, out) != NAME_OK)
		return s->target.n == 1 ? TARGET_OWNER : TARGET_REFUSED;
	if (name_equal(out, qn->name))
		return s->priority ? TARGET_OWNER : TARGET_REFUSED;
	return is_lookup_admitted(qn, out) ? TARGET_OTHER : TARGET_REFUSED;
}

static void put_svcb(const struct question *qn, struct dns_builder *d,
		     const struct dns_record *record, const struct dns_svcb_admitted *admitted)
{
	struct dns_svcb_admitted without_hints = {.quic = admitted->quic};
	enum target target;
	uint8_t octets[2048];
	struct buf b = buf_of(octets, sizeof(octets));
	struct dns_svcb s;
	struct name other;

	if (!dns_svcb_parse(record->rdata, 0, record->rdata.n, &s))
		return;
	target = judge_target(qn, &s, &other);
	if (target == TARGET_REFUSED)
		return;
	if (!dns_svcb_rewrite(record->rdata, target == TARGET_OWNER ? admitted : &without_hints,
			      &b))
		return;
	if (target == TARGET_OTHER)
		names_set_alias(qn->desk->config.names, qn->name, &other, qn->now);
	dns_build_record(d, qn->q->qtype, names_clamp_ttl(record->ttl), buf_span(&b));
}

/* Would a QUIC connection to the asked name be let through? */
static bool is_quic_admitted(const struct question *qn)
{
	struct destination dest = {
		.kind = DEST_CONNECT, .name = qn->name, .port = 443, .proto = PROTO_UDP};
	struct verdict v;

	decide(question_rules(qn), qn->desk->config.host, &dest, &v);
	return v.allow;
}

static void reply_svcb(const struct question *qn, const struct dns_message *answer)
{
	struct addr v4[NAMES_ANSWER_MAX], v6[NAMES_ANSWER_MAX];
	struct dns_svcb_admitted admitted = {
		.quic = is_quic_admitted(qn),
		.v4 = v4,
		.v6 = v6,
		.n_v4 = hint_addrs(qn, true, v4),
		.n_v6 = hint_addrs(qn, false, v6),
	};
	struct dns_builder d;

	question_begin(qn, DNS_NOERROR, &d);
	for (size_t i = 0; i < answer->n_records; i++)
		put_svcb(qn, &d, &answer->records[i], &admitted);
	if (d.n_answers == 0 && !d.truncated)
		question_own_soa(qn, DNS_NOERROR, &d, names_clamp_ttl(answer->ttl));
	question_answer(qn, &d);
}

/* As the upstream said it, with its SOA when that is of a zone above the asked name. */
static void reply_upstream_absent(const struct question *qn, const struct dns_message *answer)
{
	uint32_t ttl = names_clamp_ttl(answer->ttl);
	struct dns_builder d;

	question_begin(qn, answer->rcode, &d);
	if (answer->has_soa && dns_name_is_at_or_below(&qn->q->qname, &answer->soa_zone))
		dns_build_soa(&d, &answer->soa_zone, ttl, answer->soa.rdata);
	else
		question_own_soa(qn, answer->rcode, &d, ttl);
	question_answer(qn, &d);
}

static void reply_records(const struct question *qn, const struct dns_message *answer)
{
	struct dns_builder d;

	question_begin(qn, DNS_NOERROR, &d);
	for (size_t i = 0; i < answer->n_records; i++)
		dns_build_record(&d, qn->q->qtype, names_clamp_ttl(answer->records[i].ttl),
				 answer->records[i].rdata);
	question_answer(qn, &d);
}

static bool kept_type(uint16_t qtype, enum names_type *out)
{
	switch (qtype) {
	case DNS_A:
		*out = NAMES_A;
		return true;
	case DNS_AAAA:
		*out = NAMES_AAAA;
		return true;
	case DNS_HTTPS:
		*out = NAMES_HTTPS;
		return true;
	default:
		return false;
	}
}

static void take_absent(const struct question *qn, const struct dns_message *answer)
{
	bool nxdomain = answer->rcode == DNS_NXDOMAIN;
	enum names_type type;

	if (kept_type(qn->q->qtype, &type))
		names_set_absent(qn->desk->config.names, qn->name, type,
				 nxdomain ? NAMES_NXDOMAIN : NAMES_NODATA, answer->ttl, qn->now);
	reply_upstream_absent(qn, answer);
}

void dns_answer_upstream(const struct question *qn, const struct dns_message *answer)
{
	if (answer->rcode == DNS_NXDOMAIN || answer->n_addrs + answer->n_records == 0)
		take_absent(qn, answer);
	else if (answer->n_addrs)
		dns_answer_addrs(qn, answer->addrs, answer->n_addrs, answer->ttl);
	else if (qn->q->qtype == DNS_HTTPS || qn->q->qtype == DNS_SVCB)
		reply_svcb(qn, answer);
	else
		reply_records(qn, answer);
}
