/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/pcapng.h"

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
	BLOCK_SECRETS = 10,
	ORDER_MAGIC = 0x1a2b3c4d,
	VERSION_MAJOR = 1,
	LINKTYPE_ETHERNET = 1,
	SECRETS_TLS = 0x544c534b,
};

enum {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	SECTION_APPLICATION = 4,
	INTERFACE_NAME = 2,
	INTERFACE_DESCRIPTION = 3,
	INTERFACE_RESOLUTION = 9,
	PACKET_FLAGS = 2,
	PACKET_LOST = 4,
	STATISTICS_BEGUN = 2,
	STATISTICS_ENDED = 3,
	STATISTICS_RECEIVED = 4,
	STATISTICS_DROPPED = 5,
	STATISTICS_DELIVERED = 8,
};

/* In the machine's order, unlike buf_put_u16() and buf_put_u32(). */
static void put16(struct buf *b, uint16_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_padding(struct buf *b, size_t n)
{
	static const uint8_t zeros[3];

	buf_put(b, zeros, -n & 3);
}

static size_t padded(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static void put_option(struct buf *b, uint16_t code, const void *value, size_t n)
{
	put16(b, code);
	put16(b, (uint16_t)n);
	buf_put(b, value, n);
	put_padding(b, n);
}

static void put_text(struct buf *b, uint16_t code, const char *text)
{
	put_option(b, code, text, strlen(text));
}

/* The higher half first, whatever the order of octets (4.6). */
static void put_time_option(struct buf *b, uint16_t code, uint64_t ns)
{
	const uint32_t halves[2] = {(uint32_t)(ns >> 32), (uint32_t)ns};

	put_option(b, code, halves, sizeof(halves));
}

/* A block of which all but the lengths is known: they are filled in at its end. */
static size_t begin_block(struct buf *b, uint32_t type)
{
	size_t at = b->n;

	put32(b, type);
	put32(b, 0);
	return at;
}

static void end_block(struct buf *b, size_t at)
{
	uint32_t n = (uint32_t)(b->n + 4 - at);

	put32(b, n);
	if (!b->full)
		memcpy(b->p + at + 4, &n, sizeof(n));
}

static void end_options(struct buf *b)
{
	put32(b, OPTION_END);
}

void pcapng_put_section(struct buf *b, const char *application, const char *comment)
{
	const int64_t unknown = -1; /* the section's length: it grows */
	size_t at = begin_block(b, BLOCK_SECTION);

	put32(b, ORDER_MAGIC);
	put16(b, VERSION_MAJOR);
	put16(b, 0);
	buf_put(b, &unknown, sizeof(unknown));
	put_text(b, OPTION_COMMENT, comment);
	put_text(b, SECTION_APPLICATION, application);
	end_options(b);
	end_block(b, at);
}

void pcapng_put_interface(struct buf *b, const char *name, const char *description)
{
	const uint8_t nanoseconds = 9;
	size_t at = begin_block(b, BLOCK_INTERFACE);

	put16(b, LINKTYPE_ETHERNET);
	put16(b, 0);
	put32(b, PCAPNG_CAPTURED_MAX);
	put_text(b, INTERFACE_NAME, name);
	put_text(b, INTERFACE_DESCRIPTION, description);
	put_option(b, INTERFACE_RESOLUTION, &nanoseconds, 1);
	end_options(b);
	end_block(b, at);
}

static size_t comment_octets(const struct pcapng_packet *p)
{
	return strnlen(p->comment, PCAPNG_COMMENT_MAX - 1);
}

size_t pcapng_packet_octets(const struct pcapng_packet *p)
{
	size_t options = 8 + 4 + padded(comment_octets(p)) + (p->lost ? 12 : 0) + 4;

	return PCAPNG_HEAD + padded(p->captured) + options + 4;
}

void pcapng_put_packet_head(struct buf *b, const struct pcapng_packet *p)
{
	put32(b, BLOCK_PACKET);
	put32(b, (uint32_t)pcapng_packet_octets(p));
	put32(b, 0);
	put32(b, (uint32_t)(p->time_ns >> 32));
	put32(b, (uint32_t)p->time_ns);
	put32(b, p->captured);
	put32(b, p->length);
}

void pcapng_put_packet_tail(struct buf *b, const struct pcapng_packet *p)
{
	put_padding(b, p->captured);
	put_option(b, PACKET_FLAGS, &p->flags, sizeof(p->flags));
	put_option(b, OPTION_COMMENT, p->comment, comment_octets(p));
	if (p->lost)
		put_option(b, PACKET_LOST, &p->lost, sizeof(p->lost));
	end_options(b);
	put32(b, (uint32_t)pcapng_packet_octets(p));
}

static void put_count(struct buf *b, uint16_t code, uint64_t n)
{
	put_option(b, code, &n, sizeof(n));
}

void pcapng_put_statistics(struct buf *b, const struct pcapng_statistics *s)
{
	size_t at = begin_block(b, BLOCK_STATISTICS);

	put32(b, 0);
	put32(b, (uint32_t)(s->ended_ns >> 32));
	put32(b, (uint32_t)s->ended_ns);
	put_time_option(b, STATISTICS_BEGUN, s->begun_ns);
	put_time_option(b, STATISTICS_ENDED, s->ended_ns);
	put_count(b, STATISTICS_RECEIVED, s->received);
	put_count(b, STATISTICS_DROPPED, s->dropped);
	put_count(b, STATISTICS_DELIVERED, s->written);
	end_options(b);
	end_block(b, at);
}

void pcapng_put_secrets(struct buf *b, struct span lines)
{
	size_t at = begin_block(b, BLOCK_SECRETS);

	put32(b, SECRETS_TLS);
	put32(b, (uint32_t)lines.n);
	buf_put_span(b, lines);
	put_padding(b, lines.n);
	end_block(b, at);
}
