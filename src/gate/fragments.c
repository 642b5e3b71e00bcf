/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * A few places, for packets of several senders whose pieces came between each other's. A place has
 * the packet as far as it came, with the header of its first piece; the next piece must begin where
 * that ends. A first piece takes the place that was begun longest ago; a place is forgotten after
 * KEPT_MS, so that no piece is put behind one of an earlier packet that has its number by chance.
 */
#include "gate/fragments.h"

#include <stdlib.h>

#include "gate/ip.h"

enum { PLACES = 4, KEPT_MS = 2000 };
enum { V4_HEADER = 20, V6_HEADER = 40, V6_FRAGMENT = 8, NEXT_FRAGMENT = 44 };
enum { V4_MORE = 0x2000, V4_OFFSET = 0x1fff, V6_MORE = 1, V6_OFFSET = 0xfff8 };

/* What pieces of one packet have in common: its version, addresses, protocol and number. */
enum { KEY = 1 + 32 + 1 + 4 };

struct piece {
	uint8_t key[KEY];
	struct span header; /* as it stands, without a fragment header */
	struct span data;
	size_t offset;
	uint8_t proto;
	bool more;
};

struct place {
	uint8_t key[KEY];
	bool used;
	mono_t begun;
	size_t header; /* octets of `octet` */
	struct buf b;
	uint8_t octet[IP_PACKET_MAX];
};

struct fragments {
	struct place place[PLACES];
};

struct fragments *fragments_new(void)
{
	return calloc(1, sizeof(struct fragments));
}

/* ---- what a piece is ---- */

static bool read_v4(struct span s, struct piece *out)
{
	struct reader r = reader_of(s);
	size_t header = (size_t)(reader_u8(&r) & 15) * 4, total;
	uint16_t id, fragment;

	reader_u8(&r);
	total = reader_u16(&r);
	id = reader_u16(&r);
	fragment = reader_u16(&r);
	reader_u8(&r);
	out->proto = reader_u8(&r);
	reader_u16(&r);
	if (header < V4_HEADER || total < header || total > s.n || s.n < V4_HEADER)
		return false;
	out->key[0] = 4;
	memcpy(out->key + 1, s.p + 12, 8);
	out->key[33] = out->proto;
	out->key[34] = (uint8_t)(id >> 8);
	out->key[35] = (uint8_t)id;
	out->header = span_of(s.p, header);
	out->data = span_of(s.p + header, total - header);
	out->offset = (size_t)(fragment & V4_OFFSET) * 8;
	out->more = fragment & V4_MORE;
	return out->more || out->offset;
}

/* Only with the fragment header right behind the fixed one. */
static bool read_v6(struct span s, struct piece *out)
{
	struct reader r = reader_of(s);
	size_t length;
	uint16_t fragment;

	reader_u32(&r);
	length = reader_u16(&r);
	if (reader_u8(&r) != NEXT_FRAGMENT || length < V6_FRAGMENT || s.n < V6_HEADER ||
	    length > s.n - V6_HEADER)
		return false;
	reader_take(&r, 1 + 32);
	out->proto = reader_u8(&r);
	reader_u8(&r);
	fragment = reader_u16(&r);
	out->key[0] = 6;
	memcpy(out->key + 1, s.p + 8, 32);
	out->key[33] = out->proto;
	memcpy(out->key + 34, reader_take(&r, 4).p, 4);
	out->header = span_of(s.p, V6_HEADER);
	out->data = span_of(s.p + V6_HEADER + V6_FRAGMENT, length - V6_FRAGMENT);
	out->offset = fragment & V6_OFFSET;
	out->more = fragment & V6_MORE;
	return true;
}

static bool read_piece(struct span s, struct piece *out)
{
	*out = (struct piece){0};
	if (s.n == 0)
		return false;
	if (s.p[0] >> 4 == 4)
		return read_v4(s, out);
	return s.p[0] >> 4 == 6 && read_v6(s, out);
}

/* ---- putting together ---- */

static struct place *place_of(struct fragments *f, const struct piece *p, mono_t now)
{
	for (struct place *at = f->place; at < f->place + PLACES; at++)
		if (at->used && memcmp(at->key, p->key, KEY) == 0 &&
		    mono_before(now, mono_add_ms(at->begun, KEPT_MS)))
			return at;
	return NULL;
}

static struct place *oldest(struct fragments *f)
{
	struct place *found = f->place;

	for (struct place *at = f->place; at < f->place + PLACES; at++) {
		if (!at->used)
			return at;
		if (mono_before(at->begun, found->begun))
			found = at;
	}
	return found;
}

static struct place *begin_packet(struct fragments *f, const struct piece *p, mono_t now)
{
	struct place *at = place_of(f, p, now);

	if (!at)
		at = oldest(f);
	memcpy(at->key, p->key, KEY);
	at->used = true;
	at->begun = now;
	at->header = p->header.n;
	at->b = buf_of(at->octet, sizeof(at->octet));
	buf_put_span(&at->b, p->header);
	return at;
}

/* The fields of the header that a piece has otherwise than the whole. */
static void finish(struct place *at, uint8_t proto)
{
	if (at->key[0] == 6) {
		at->octet[6] = proto;
		buf_patch_u16(&at->b, 4, (uint16_t)(at->b.n - V6_HEADER));
		return;
	}
	buf_patch_u16(&at->b, 2, (uint16_t)at->b.n);
	buf_patch_u16(&at->b, 6, 0);
	packet_set_header_checksum(at->octet, at->header);
}

enum fragments_taken fragments_take(struct fragments *f, struct span piece, mono_t now,
				    struct span *whole)
{
	struct place *at;
	struct piece p;

	if (!read_piece(piece, &p) || (p.more && (p.data.n == 0 || p.data.n % 8)))
		return FRAGMENTS_REFUSED;
	at = p.offset == 0 ? begin_packet(f, &p, now) : place_of(f, &p, now);
	if (!at)
		return FRAGMENTS_REFUSED;
	at->used = at->b.n - at->header == p.offset;
	buf_put_span(&at->b, p.data);
	at->used = at->used && !at->b.full;
	if (!at->used)
		return FRAGMENTS_REFUSED;
	if (p.more)
		return FRAGMENTS_MORE;
	at->used = false;
	finish(at, p.proto);
	*whole = buf_span(&at->b);
	return FRAGMENTS_WHOLE;
}

/* ---- cutting ---- */

static void put_v4(struct buf *b, struct span packet, size_t n, uint16_t id, uint16_t fragment)
{
	size_t begin = b->n;

	buf_put(b, packet.p, 2);
	buf_put_u16(b, (uint16_t)(V4_HEADER + n));
	buf_put_u16(b, id);
	buf_put_u16(b, fragment);
	buf_put(b, packet.p + 8, V4_HEADER - 8);
	if (!b->full)
		packet_set_header_checksum(b->p + begin, V4_HEADER);
}

static void put_v6(struct buf *b, struct span packet, size_t n, uint32_t id, uint16_t fragment)
{
	buf_put(b, packet.p, 4);
	buf_put_u16(b, (uint16_t)(V6_FRAGMENT + n));
	buf_put_u8(b, NEXT_FRAGMENT);
	buf_put(b, packet.p + 7, V6_HEADER - 7);
	buf_put_u8(b, packet.p[6]);
	buf_put_u8(b, 0);
	buf_put_u16(b, fragment);
	buf_put_u32(b, id);
}

size_t fragments_cut(struct span packet, uint32_t mtu, uint32_t id, size_t at, struct buf *b)
{
	bool v4 = packet.p[0] >> 4 == 4;
	size_t header = v4 ? V4_HEADER : V6_HEADER, added = v4 ? 0 : V6_FRAGMENT;
	size_t most = (mtu - header - added) & ~(size_t)7, left = packet.n - header - at;
	size_t n = left < most ? left : most;
	bool more = n < left;

	if (v4)
		put_v4(b, packet, n, (uint16_t)id, (uint16_t)(at / 8 | (more ? V4_MORE : 0)));
	else
		put_v6(b, packet, n, id, (uint16_t)(at | (more ? V6_MORE : 0)));
	buf_put(b, packet.p + header + at, n);
	return more ? at + n : 0;
}
