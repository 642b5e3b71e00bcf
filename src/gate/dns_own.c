/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dns_own.h"

#include "gate/dns_special.h"

static void reply_own(const struct question *qn, const struct addr *addrs, size_t n)
{
	struct dns_builder d;

	question_begin(qn, DNS_NOERROR, &d);
	for (size_t i = 0; i < n; i++)
		dns_build_addr(&d, &addrs[i], DNS_OWN_TTL);
	if (n == 0)
		question_own_soa(qn, DNS_NOERROR, &d, DNS_ABSENT_TTL);
	question_answer(qn, &d);
}

static void reply_loopback(const struct question *qn)
{
	static const struct addr v4 = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	static const struct addr v6 = {{[15] = 1}};

	if (qn->q->qtype == DNS_A)
		reply_own(qn, &v4, 1);
	else
		reply_own(qn, &v6, qn->q->qtype == DNS_AAAA);
}

static void reply_gate(const struct question *qn)
{
	const struct dns_server_config *c = &qn->desk->config;

	if (qn->q->qtype == DNS_A)
		reply_own(qn, &c->gate_v4, 1);
	else
		reply_own(qn, &c->gate_v6, qn->q->qtype == DNS_AAAA && c->ipv6);
}

/* RFC 8880, 7.2: the two well-known addresses, and no AAAA since there is no NAT64 here. */
static void reply_ipv4only(const struct question *qn)
{
	static const struct addr v4[] = {
		{{[10] = 0xff, [11] = 0xff, 192, 0, 0, 170}},
		{{[10] = 0xff, [11] = 0xff, 192, 0, 0, 171}},
	};

	reply_own(qn, v4, qn->q->qtype == DNS_A ? 2 : 0);
}

static bool answer_special(const struct question *qn)
{
	switch (dns_special_find(qn->name)) {
	case DNS_SPECIAL_NONE:
		return false;
	case DNS_SPECIAL_LOOPBACK:
		reply_loopback(qn);
		break;
	case DNS_SPECIAL_GATE:
		reply_gate(qn);
		break;
	case DNS_SPECIAL_IPV4ONLY:
		reply_ipv4only(qn);
		break;
	case DNS_SPECIAL_NODATA:
		question_reply_nodata(qn);
		break;
	case DNS_SPECIAL_NXDOMAIN:
		question_reply_absent(qn, DNS_NXDOMAIN, DNS_ABSENT_TTL);
		break;
	}
	return true;
}

/* The name of an address that the gate handed out, or of its own. */
static bool name_of_addr(const struct question *qn, const struct addr *a, struct name *out)
{
	static const char gateway[] = "gateway.sandgate.internal";
	const struct dns_server_config *c = &qn->desk->config;
	const struct name *bound;

	if (addr_equal(a, &c->gate_v4) || (c->ipv6 && addr_equal(a, &c->gate_v6)))
		return name_parse_ascii(gateway, sizeof(gateway) - 1, out) == NAME_OK;
	if (names_bound_to(c->names, a, qn->now, &bound, 1) == 0)
		return false;
	*out = *bound;
	return true;
}

static void reply_ptr(const struct question *qn, const struct name *name)
{
	struct dns_wire_name w;
	struct dns_builder d;

	dns_name_to_wire(name, &w);
	question_begin(qn, DNS_NOERROR, &d);
	if (qn->q->qtype == DNS_PTR)
		dns_build_record(&d, DNS_PTR, DNS_OWN_TTL, span_of(w.b, w.n));
	else
		question_own_soa(qn, DNS_NOERROR, &d, DNS_ABSENT_TTL);
	question_answer(qn, &d);
}

/*
 * From the gate's own table; the upstream is asked only when the policy admits the reverse name
 * and the address may be known. Anything else does not exist: that is no refusal, since programs
 * ask in passing and do without.
 */
static enum dns_own answer_reverse_addr(struct question *qn, const struct addr *a)
{
	struct name name;

	if (name_of_addr(qn, a, &name)) {
		reply_ptr(qn, &name);
		return OWN_ANSWERED;
	}
	question_decide(qn);
	if (qn->q->qtype == DNS_PTR && qn->verdict.allow &&
	    address_admissible(question_rules(qn), qn->desk->config.host, &qn->verdict, a))
		return OWN_ASK;
	question_reply_absent(qn, DNS_NXDOMAIN, DNS_ABSENT_TTL);
	return OWN_ANSWERED;
}

enum dns_own dns_own_answer(struct question *qn)
{
	struct addr a;

	if (answer_special(qn))
		return OWN_ANSWERED;
	switch (dns_reverse_parse(qn->name, &a)) {
	case REVERSE_ADDR:
		return answer_reverse_addr(qn, &a);
	case REVERSE_OTHER:
		question_reply_absent(qn, DNS_NXDOMAIN, DNS_ABSENT_TTL);
		return OWN_ANSWERED;
	default:
		return OWN_NOT;
	}
}
