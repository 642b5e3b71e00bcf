/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question of any octets gets no answer, or one that is whole, no larger than asked for, and
 * has the question's id and name.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/dns.h"

static uint8_t out[65535];

static void check_answer(struct span answer, const struct dns_query *q, size_t size)
{
	struct dns_wire_name name;
	size_t end;

	if (answer.n < DNS_HEADER || answer.n > size || !(answer.p[2] & 0x80))
		abort();
	if ((answer.p[0] << 8 | answer.p[1]) != q->id)
		abort();
	if (!q->has_question)
		return;
	if (!dns_name_expand(answer, DNS_HEADER, &name, &end) || name.n != q->qname.n ||
	    memcmp(name.b, q->qname.b, name.n) != 0)
		abort();
}

static void build(const struct dns_query *q, enum dns_rcode rcode)
{
	static const char reason[] = "sandgate run --allow api.example.com ...";
	struct dns_builder d;

	dns_build_begin(&d, q, rcode, out, q->udp_size);
	dns_build_ede(&d, DNS_EDE_BLOCKED, reason);
	dns_build_any(&d);
	if (q->has_question) {
		dns_build_record(&d, DNS_CNAME, 5, span_of(q->qname.b, q->qname.n));
		dns_build_own_soa(&d, &q->qname, 5);
	}
	check_answer(dns_build_end(&d), q, q->udp_size);
}

/* A name that is one comes back from the wire the same. */
static void check_name(const struct dns_query *q)
{
	struct dns_wire_name back;
	struct name name;

	if (dns_name_from_wire(&q->qname, &name) != NAME_OK)
		return;
	dns_name_to_wire(&name, &back);
	if (!dns_name_equal(&back, &q->qname) || !dns_name_is_at_or_below(&back, &q->qname))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_query q;
	enum dns_rcode rcode = DNS_NOERROR;

	if (dns_query_parse(span_of(data, size), &q, &rcode) == DNS_PARSE_DROP)
		return 0;
	if (q.udp_size < DNS_UDP_MIN || q.udp_size > DNS_UDP_MAX)
		abort();
	if (q.has_question)
		check_name(&q);
	build(&q, rcode);
	return 0;
}
