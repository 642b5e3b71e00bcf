/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns: the DNS message codec. Pure: spans in, structs and octets out; no I/O, no allocation,
 * every length checked where it is read.
 *
 * Nothing of an upstream message is relayed as it came: dns_response_parse() re-encodes each
 * record's data, and the builder writes answers from that.
 */
#ifndef SG_GATE_DNS_H
#define SG_GATE_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/buf.h"
#include "base/name.h"
#include "base/span.h"

enum {
	DNS_HEADER = 12,
	DNS_WIRE_NAME_MAX = 255, /* RFC 1035, 2.3.4: length octets and the root included */
	DNS_UDP_MIN = 512,
	DNS_UDP_MAX = 1232, /* never fragmented on any link: IPv6's 1280 less the headers */
	DNS_ADDRS_MAX = 16,
	DNS_RECORDS_MAX = 128, /* records of one answer that are kept */
};

enum dns_type {
	DNS_A = 1,
	DNS_NS = 2,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_PTR = 12,
	DNS_HINFO = 13,
	DNS_MX = 15,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_OPT = 41,
	DNS_SVCB = 64,
	DNS_HTTPS = 65,
	DNS_TKEY = 249,
	DNS_TSIG = 250,
	DNS_IXFR = 251,
	DNS_AXFR = 252,
	DNS_ANY = 255,
	DNS_CAA = 257,
};

enum { DNS_CLASS_IN = 1 };

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16, /* RFC 6891: the upper bits are in the OPT record */
};

/* RFC 8914 */
enum dns_ede { DNS_EDE_NONE = -1, DNS_EDE_BLOCKED = 15, DNS_EDE_NO_REACHABLE_AUTHORITY = 22 };

/* A name as it stands in a message, uncompressed, with its final root octet. */
struct dns_wire_name {
	uint8_t n; /* octets, 1..255 */
	uint8_t b[DNS_WIRE_NAME_MAX];
};

/*
 * Reads the name at `at`, compression included: each pointer must point before the labels it
 * continues (RFC 1035, 4.1.4), so that reading ends. *end gets the offset after it.
 */
bool dns_name_expand(struct span message, size_t at, struct dns_wire_name *out, size_t *end);

void dns_name_to_wire(const struct name *name, struct dns_wire_name *out);

/* Canonical text; NAME_EMPTY for the root, NAME_BAD_CHARACTER for other octets. */
enum name_error dns_name_from_wire(const struct dns_wire_name *w, struct name *out);

/* Without case (RFC 4343). */
bool dns_name_equal(const struct dns_wire_name *a, const struct dns_wire_name *b);

/* True for the name itself as well. */
bool dns_name_is_at_or_below(const struct dns_wire_name *name, const struct dns_wire_name *zone);

struct dns_query {
	uint16_t id;
	uint8_t opcode;
	bool rd, cd;
	bool has_question;	    /* false: an error answer carries none */
	struct dns_wire_name qname; /* with the case it came in */
	uint16_t qtype, qclass;
	bool edns, dnssec_ok;
	uint16_t udp_size; /* 512..1232 */
};

enum dns_parse {
	DNS_PARSE_OK,
	DNS_PARSE_ERROR, /* answer with *rcode */
	DNS_PARSE_DROP,	 /* not even a header: nothing can be answered */
};

/* Strict: what is not fully understood is an error. On DROP, q is undefined. */
enum dns_parse dns_query_parse(struct span message, struct dns_query *q, enum dns_rcode *rcode);

/* A question for the upstream, with EDNS when `edns`. At most 12+255+4+11 octets. */
enum { DNS_QUESTION_MAX = DNS_HEADER + DNS_WIRE_NAME_MAX + 4 + 11 };
size_t dns_question_build(const struct name *name, uint16_t type, uint16_t id, bool edns,
			  uint8_t out[DNS_QUESTION_MAX]);

/*
 * The builder: begin, any number of answers, perhaps one authority, end. A record that does not
 * fit is left out whole and the message says TC.
 */
enum { DNS_SUFFIXES_MAX = 32 };
struct dns_builder {
	struct buf b; /* its capacity leaves room for the OPT record until the end */
	size_t size;  /* of the whole message at most */
	enum dns_rcode rcode;
	bool edns, dnssec_ok;
	enum dns_ede ede;
	struct span ede_text;
	uint16_t n_answers, n_authority;
	bool truncated;
	uint16_t n_suffixes; /* places of names written, for compression */
	uint16_t suffix[DNS_SUFFIXES_MAX];
};

/* `out` holds `size` octets, at least 512; for TCP size may be 65535. */
void dns_build_begin(struct dns_builder *d, const struct dns_query *q, enum dns_rcode rcode,
		     void *out, size_t size);

/* What stands in the OPT record if the question had one; text is cut to fit. Before any answer. */
void dns_build_ede(struct dns_builder *d, enum dns_ede code, const char *text);

/* The owner is the name of the question. */
void dns_build_addr(struct dns_builder *d, const struct addr *a, uint32_t ttl);

/* `rdata` is as dns_response_parse() encodes it: uncompressed. */
void dns_build_record(struct dns_builder *d, uint16_t type, uint32_t ttl, struct span rdata);

/* RFC 8482: the answer to ANY. */
void dns_build_any(struct dns_builder *d);

/* RFC 2308: the SOA of a negative answer. */
void dns_build_soa(struct dns_builder *d, const struct dns_wire_name *zone, uint32_t ttl,
		   struct span rdata);

/* One of the gate's own making: for names it answers itself and for cached negatives. */
void dns_build_own_soa(struct dns_builder *d, const struct dns_wire_name *zone, uint32_t ttl);

/* The whole message. */
struct span dns_build_end(struct dns_builder *d);

struct dns_record {
	uint32_t ttl;
	struct span rdata; /* inside the message's store, names uncompressed */
};

/* An upstream answer, checked. */
struct dns_message {
	enum dns_rcode rcode; /* NOERROR or NXDOMAIN; any other is a failure of the resolver */
	uint16_t type;
	uint32_t ttl;	/* the least along the chain; of a negative answer as in RFC 2308, 5 */
	size_t n_addrs; /* for A and AAAA; as they came, not vetted */
	struct addr addrs[DNS_ADDRS_MAX];
	size_t n_records; /* for the other types, all of `type` */
	struct dns_record records[DNS_RECORDS_MAX];
	bool has_soa;
	struct dns_wire_name soa_zone;
	struct dns_record soa;
	struct buf store;
	uint8_t octets[16384];
};

enum dns_response {
	DNS_RESPONSE_OK,
	DNS_RESPONSE_FAILED,  /* SERVFAIL, REFUSED and the like */
	DNS_RESPONSE_NO_EDNS, /* FORMERR without an OPT record: ask without one */
	DNS_RESPONSE_MALFORMED,
	DNS_RESPONSE_LOOP, /* the chain of CNAMEs does not end */
};

/* Is this a type that dns_response_parse() re-encodes? */
bool dns_type_is_known(uint16_t type);

/*
 * Parses what came for (name, type): follows the chain of CNAMEs through the answer section,
 * keeps the records of `type` at its end. Records that are not well-formed make the whole
 * message malformed.
 */
enum dns_response dns_response_parse(struct span message, const struct name *name, uint16_t type,
				     struct dns_message *out);

#endif
