/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/datagram_flow.h"

#include <string.h>

#include "gate/names.h"

static uint16_t *bucket_of(struct datagrams *d, enum proto proto, const struct endpoint *src,
			   const struct endpoint *dst)
{
	uint8_t key[21];

	memcpy(key, dst->addr.b, 16);
	memcpy(key + 16, &dst->port, 2);
	memcpy(key + 18, &src->port, 2);
	key[20] = (uint8_t)proto;
	return &d->bucket[name_hash((const char *)key, sizeof(key)) % DATAGRAM_BUCKETS];
}

struct datagram_flow *datagram_flow_find(struct datagrams *d, enum proto proto,
					 const struct endpoint *src, const struct endpoint *dst)
{
	for (uint16_t i = *bucket_of(d, proto, src, dst); i != DATAGRAM_FLOW_NONE;
	     i = d->flow[i].next) {
		struct datagram_flow *fl = &d->flow[i];

		if (fl->proto == proto && fl->src.port == src->port && fl->dst.port == dst->port &&
		    addr_equal(&fl->dst.addr, &dst->addr) && addr_equal(&fl->src.addr, &src->addr))
			return fl;
	}
	return NULL;
}

static uint16_t slot_of(const struct datagram_flow *fl)
{
	return (uint16_t)(fl - fl->table->flow);
}

const struct name *datagram_flow_name(const struct datagram_flow *fl)
{
	return fl->name.n ? &fl->name : NULL;
}

static int carrier(enum proto proto)
{
	return proto == PROTO_UDP ? IPPROTO_UDP : IPPROTO_ICMP;
}

struct event datagram_flow_event(const struct datagram_flow *fl, enum record_kind kind,
				 enum reason reason)
{
	return (struct event){
		.kind = kind,
		.proto = fl->is_quic		  ? RECORD_QUIC
			 : fl->proto == PROTO_UDP ? RECORD_UDP
						  : RECORD_ICMP,
		.reason = reason,
		.name = datagram_flow_name(fl),
		.addr = &fl->dst.addr,
		.port = fl->dst.port,
		.rule = fl->rule,
		.exchange = {.near = &fl->src,
			     .far = &fl->dst,
			     .proto = (uint8_t)carrier(fl->proto)},
	};
}

void datagram_flow_note(const struct datagram_flow *fl, enum record_kind kind, enum reason reason)
{
	struct event e = datagram_flow_event(fl, kind, reason);

	journal_note(fl->table->gate->journal, &e);
}

void datagram_flow_note_end(const struct datagram_flow *fl, enum reason why)
{
	struct event e = datagram_flow_event(fl, RECORD_END, why);
	mono_t now = loop_now(fl->table->gate->loop);

	e.bytes_out = fl->bytes_out;
	e.bytes_in = fl->bytes_in;
	e.duration_ms = (uint64_t)((now.ns - fl->begun.ns) / 1000000);
	journal_note(fl->table->gate->journal, &e);
}

void datagrams_tell(const struct datagrams *d, uint32_t place)
{
	const struct datagram_flow *fl = &d->flow[place];
	struct event e;

	if (place >= d->used || !fl->used)
		return;
	e = datagram_flow_event(fl, RECORD_ALLOW, REASON_NONE);
	journal_tell(d->gate->journal, &e, VERDICT_ALLOW, NULL);
}

void datagram_flow_end(struct datagram_flow *fl, enum reason why)
{
	struct datagrams *d = fl->table;
	uint16_t *at = bucket_of(d, fl->proto, &fl->src, &fl->dst);

	datagram_flow_note_end(fl, why);
	if (d->run.flow == fl)
		d->run.flow = NULL;
	while (*at != DATAGRAM_FLOW_NONE && *at != slot_of(fl))
		at = &d->flow[*at].next;
	if (*at != DATAGRAM_FLOW_NONE)
		*at = fl->next;
	loop_close(d->gate->loop, &fl->watch);
	fl->used = false;
	fl->next = d->free;
	d->free = slot_of(fl);
	d->open--;
}

struct datagram_flow *datagram_flow_take(struct datagrams *d)
{
	struct datagram_flow *fl;

	if (d->free != DATAGRAM_FLOW_NONE) {
		fl = &d->flow[d->free];
		d->free = fl->next;
	} else if (d->used < DATAGRAM_FLOWS_MAX) {
		fl = &d->flow[d->used++];
	} else {
		return NULL;
	}
	d->open++;
	return fl;
}

void datagram_flow_give_back(struct datagrams *d, struct datagram_flow *fl)
{
	fl->next = d->free;
	d->free = slot_of(fl);
	d->open--;
}

void datagram_flow_put(struct datagram_flow *fl)
{
	uint16_t *bucket = bucket_of(fl->table, fl->proto, &fl->src, &fl->dst);

	fl->used = true;
	fl->next = *bucket;
	*bucket = slot_of(fl);
}
