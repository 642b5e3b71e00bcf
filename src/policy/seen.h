/* SPDX-License-Identifier: Apache-2.0 */
/* seen: one kind of thing that a sandbox tried, as a log or a count of refusals has it. */
#ifndef SG_POLICY_SEEN_H
#define SG_POLICY_SEEN_H

#include "policy/decide.h"

enum { SEEN_PERMISSION_MAX = 40 };

struct seen {
	bool lookup; /* a DNS question: only the name counts */
	bool has_name, has_addr;
	struct name name;
	struct addr addr;
	uint16_t port; /* 0: none, as with echo */
	enum proto proto;
	enum reason reason; /* REASON_NONE: it was admitted */
	/* Of a request: by which permission it was admitted, or would have been; empty: not known. */
	char permission[SEEN_PERMISSION_MAX];
	uint64_t count;
};

/* The destination to judge; it borrows from s. */
static inline struct destination seen_destination(const struct seen *s)
{
	return (struct destination){
		.kind = s->lookup ? DEST_LOOKUP : DEST_CONNECT,
		.name = s->has_name ? &s->name : NULL,
		.addr = s->has_addr && !s->lookup ? &s->addr : NULL,
		.port = s->lookup ? 0 : s->port,
		.proto = s->lookup ? PROTO_TCP : s->proto,
	};
}

/* "db.example.com", or the address when there is no name. Returns out. */
static inline char *seen_host(const struct seen *s, char out[NAME_MAX_OCTETS + 1])
{
	if (s->has_name)
		return memcpy(out, s->name.s, s->name.n + 1u);
	out[0] = 0;
	return s->has_addr ? addr_format(&s->addr, out) : out;
}

#endif
