/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upstream message of any octets: what is kept of it can be built into an answer that parses
 * again to the same. The question is taken from the message, so that its body is reached.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/dns.h"
#include "gate/dns_svcb.h"

static struct dns_message first, second;
static uint8_t out[65535];

static bool read_question(struct span m, struct name *name, uint16_t *type)
{
	struct dns_wire_name w;
	size_t end;

	if (m.n < DNS_HEADER || !dns_name_expand(m, DNS_HEADER, &w, &end) || m.n - end < 4)
		return false;
	*type = (uint16_t)(m.p[end] << 8 | m.p[end + 1]);
	return dns_type_is_known(*type) && dns_name_from_wire(&w, name) == NAME_OK;
}

static struct span rebuild(const struct name *name, uint16_t type)
{
	struct dns_query q = {.qtype = type, .qclass = DNS_CLASS_IN, .has_question = true};
	struct dns_builder d;

	q.udp_size = DNS_UDP_MIN;
	dns_name_to_wire(name, &q.qname);
	dns_build_begin(&d, &q, first.rcode, out, sizeof(out));
	for (size_t i = 0; i < first.n_addrs; i++)
		if (!addr_is_v4(&first.addrs[i]) == (type == DNS_AAAA))
			dns_build_addr(&d, &first.addrs[i], first.ttl);
	for (size_t i = 0; i < first.n_records; i++)
		dns_build_record(&d, type, first.records[i].ttl, first.records[i].rdata);
	return dns_build_end(&d);
}

/* A rewritten record never says ECH or QUIC, and is one that parses. */
static void check_svcb(struct span rdata)
{
	static const struct addr v4 = {{[10] = 0xff, [11] = 0xff, 1, 2, 3, 4}};
	const struct dns_svcb_admitted a = {.v4 = &v4, .n_v4 = 1};
	uint8_t octets[2048];
	struct buf b = buf_of(octets, sizeof(octets));
	struct dns_svcb s;

	if (!dns_svcb_rewrite(rdata, &a, &b))
		return;
	if (!dns_svcb_parse(buf_span(&b), 0, b.n, &s) || s.present & 1u << SVCB_ECH)
		abort();
	if (s.present & 1u << SVCB_IPV6HINT || s.unknown_mandatory)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span m = span_of(data, size), again;
	struct name name;
	uint16_t type;

	if (!read_question(m, &name, &type) ||
	    dns_response_parse(m, &name, type, &first) != DNS_RESPONSE_OK)
		return 0;
	if (first.n_addrs > DNS_ADDRS_MAX || first.n_records > DNS_RECORDS_MAX)
		abort();
	again = rebuild(&name, type);
	if (dns_response_parse(again, &name, type, &second) != DNS_RESPONSE_OK)
		abort();
	if (second.n_records != first.n_records)
		abort();
	for (size_t i = 0; i < first.n_records; i++) {
		if (first.records[i].rdata.n != second.records[i].rdata.n)
			abort();
		if (type == DNS_HTTPS || type == DNS_SVCB)
			check_svcb(first.records[i].rdata);
	}
	return 0;
}
