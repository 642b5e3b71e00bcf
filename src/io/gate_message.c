/* SPDX-License-Identifier: Apache-2.0 */
#include "io/gate_message.h"

enum { ERROR_MAX = 4095 }; /* of an errno (Linux, include/linux/err.h) */

static bool parse_name(struct reader *r, struct name *out)
{
	struct span s = reader_take(r, reader_u8(r));

	*out = (struct name){0};
	if (s.n == 0)
		return true;
	/* Only the form that is judged: what a parser would make equal is refused. */
	return name_parse_ascii((const char *)s.p, s.n, out) == NAME_OK && out->n == s.n &&
	       memcmp(out->s, s.p, s.n) == 0;
}

static uint64_t take_u64(struct reader *r)
{
	uint64_t high = reader_u32(r);

	return high << 32 | reader_u32(r);
}

static void put_u64(struct buf *b, uint64_t v)
{
	buf_put_u32(b, (uint32_t)(v >> 32));
	buf_put_u32(b, (uint32_t)v);
}

bool gate_message_parse(struct span octets, struct gate_message *out)
{
	struct reader r = reader_of(octets);
	struct span address;

	out->kind = reader_u8(&r);
	out->flags = reader_u8(&r);
	out->dst.port = reader_u16(&r);
	out->number = reader_u32(&r);
	out->error = reader_u32(&r);
	address = reader_take(&r, sizeof(out->dst.addr.b));
	out->connection = reader_u32(&r);
	out->out = take_u64(&r);
	out->in = take_u64(&r);
	if (r.bad)
		return false;
	memcpy(out->dst.addr.b, address.p, address.n);
	if (!parse_name(&r, &out->name) || r.bad || reader_left(&r))
		return false;
	return out->kind > 0 && out->kind < GATE_KINDS && !(out->flags & ~GATE_FLAGS) &&
	       out->error <= ERROR_MAX;
}

void gate_message_print(const struct gate_message *m, struct buf *out)
{
	buf_put_u8(out, m->kind);
	buf_put_u8(out, m->flags);
	buf_put_u16(out, m->dst.port);
	buf_put_u32(out, m->number);
	buf_put_u32(out, m->error);
	buf_put(out, m->dst.addr.b, sizeof(m->dst.addr.b));
	buf_put_u32(out, m->connection);
	put_u64(out, m->out);
	put_u64(out, m->in);
	buf_put_u8(out, m->name.n);
	buf_put(out, m->name.s, m->name.n);
}
