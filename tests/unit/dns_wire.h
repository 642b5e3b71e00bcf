/* SPDX-License-Identifier: Apache-2.0 */
/* dns_wire: DNS messages put together octet by octet, for tests that must be able to write wrong
 * ones. */
#ifndef SG_TESTS_DNS_WIRE_H
#define SG_TESTS_DNS_WIRE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "gate/dns.h"

struct wire {
	struct buf b;
	uint8_t octets[65536];
};

static inline void wire_header(struct wire *w, uint16_t id, uint16_t flags, uint16_t questions,
			       uint16_t answers, uint16_t authority, uint16_t additional)
{
	uint16_t words[] = {id, flags, questions, answers, authority, additional};

	w->b = buf_of(w->octets, sizeof(w->octets));
	for (size_t i = 0; i < 6; i++)
		buf_put_u16(&w->b, words[i]);
}

/* Text labels; "" is the root. */
static inline void wire_name(struct wire *w, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		buf_put_u8(&w->b, (uint8_t)n);
		buf_put(&w->b, name, n);
		name += n + (name[n] == '.');
	}
	buf_put_u8(&w->b, 0);
}

static inline void wire_question(struct wire *w, const char *name, uint16_t type)
{
	wire_name(w, name);
	buf_put_u16(&w->b, type);
	buf_put_u16(&w->b, DNS_CLASS_IN);
}

/* Up to the data, whose length is patched by wire_end(). */
static inline size_t wire_record(struct wire *w, const char *owner, uint16_t type, uint32_t ttl)
{
	wire_name(w, owner);
	buf_put_u16(&w->b, type);
	buf_put_u16(&w->b, DNS_CLASS_IN);
	buf_put_u32(&w->b, ttl);
	buf_put_u16(&w->b, 0);
	return w->b.n;
}

static inline void wire_end(struct wire *w, size_t at)
{
	buf_patch_u16(&w->b, at - 2, (uint16_t)(w->b.n - at));
}

static inline void wire_data(struct wire *w, const char *owner, uint16_t type, uint32_t ttl,
			     const void *data, size_t n)
{
	size_t at = wire_record(w, owner, type, ttl);

	buf_put(&w->b, data, n);
	wire_end(w, at);
}

static inline void wire_alias(struct wire *w, const char *owner, uint32_t ttl, const char *target)
{
	size_t at = wire_record(w, owner, DNS_CNAME, ttl);

	wire_name(w, target);
	wire_end(w, at);
}

static inline void wire_soa(struct wire *w, const char *zone, uint32_t ttl, uint32_t minimum)
{
	size_t at = wire_record(w, zone, DNS_SOA, ttl);

	wire_name(w, "ns.example");
	wire_name(w, "host.example");
	for (uint32_t i = 0; i < 4; i++)
		buf_put_u32(&w->b, i);
	buf_put_u32(&w->b, minimum);
	wire_end(w, at);
}

static inline void wire_opt(struct wire *w, uint16_t size, uint8_t version, uint16_t flags)
{
	buf_put_u8(&w->b, 0);
	buf_put_u16(&w->b, DNS_OPT);
	buf_put_u16(&w->b, size);
	buf_put_u8(&w->b, 0);
	buf_put_u8(&w->b, version);
	buf_put_u16(&w->b, flags);
	buf_put_u16(&w->b, 0);
}

static inline struct name wire_parse_name(const char *s)
{
	struct name n;

	if (name_parse_ascii(s, strlen(s), &n) != NAME_OK)
		abort();
	return n;
}

/* What an answer says, read back by the code under test and by nothing that wrote it. */
struct wire_reply {
	uint16_t id, flags, answers, authority, additional;
	unsigned rcode; /* with the bits of the OPT record */
	bool tc;
	struct dns_wire_name qname;
	size_t n;
	struct {
		struct dns_wire_name owner;
		uint16_t type;
		uint32_t ttl;
		size_t at, end;
	} record[600];
	int ede; /* -1: none */
	char ede_text[512];
};

static inline void wire_read_opt(struct reader *r, uint32_t ttl, struct wire_reply *out)
{
	out->rcode |= ttl >> 24 << 4;
	while (reader_left(r)) {
		uint16_t code = reader_u16(r);
		struct reader option = reader_sub(r, reader_u16(r));

		if (code != 15)
			continue;
		out->ede = reader_u16(&option);
		memcpy(out->ede_text, option.p + 2, option.n - 2);
		out->ede_text[option.n - 2] = 0;
	}
}

/* Aborts when the message is not whole and well-formed to the last octet. */
static inline void wire_read(struct span m, struct wire_reply *out)
{
	struct reader r = reader_of(m);
	uint16_t questions;
	size_t end;

	memset(out, 0, sizeof(*out));
	out->ede = -1;
	out->id = reader_u16(&r);
	out->flags = reader_u16(&r);
	out->rcode = out->flags & 0xf;
	out->tc = out->flags & 0x200;
	questions = reader_u16(&r);
	out->answers = reader_u16(&r);
	out->authority = reader_u16(&r);
	out->additional = reader_u16(&r);
	if (questions) {
		if (!dns_name_expand(m, r.at, &out->qname, &end))
			abort();
		reader_take(&r, end - r.at + 4);
	}
	for (int i = 0; i < out->answers + out->authority + out->additional; i++) {
		size_t n;

		if (!dns_name_expand(m, r.at, &out->record[i].owner, &end))
			abort();
		reader_take(&r, end - r.at);
		out->record[i].type = reader_u16(&r);
		reader_u16(&r);
		out->record[i].ttl = reader_u32(&r);
		n = reader_u16(&r);
		out->record[i].at = r.at;
		out->record[i].end = r.at + n;
		struct reader data = reader_sub(&r, n);
		if (out->record[i].type == DNS_OPT)
			wire_read_opt(&data, out->record[i].ttl, out);
		out->n++;
	}
	if (r.bad || reader_left(&r))
		abort();
}

static inline bool wire_name_is(const struct dns_wire_name *w, const char *text)
{
	struct wire x;

	x.b = buf_of(x.octets, sizeof(x.octets));
	wire_name(&x, text);
	return x.b.n == w->n && memcmp(x.octets, w->b, w->n) == 0;
}

#endif
