/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcapng: the blocks of a capture file (draft-ietf-opsawg-pcapng), in the machine's own order of
 * octets, which the first block tells.
 *
 * A packet's block is written in three parts, so that the frame itself need not be copied: a head,
 * the frame's octets, and a tail that begins with their padding.
 */
#ifndef SG_CAPTURE_PCAPNG_H
#define SG_CAPTURE_PCAPNG_H

#include "base/buf.h"

enum {
	PCAPNG_HEAD = 28,
	PCAPNG_COMMENT_MAX = 256,
	/* Padding, flags, comment, count of the lost, end of options, length. */
	PCAPNG_TAIL_MAX = 3 + 8 + 4 + PCAPNG_COMMENT_MAX + 12 + 4 + 4,
	PCAPNG_STATISTICS_OCTETS = 24 + 5 * 12 + 4,
	PCAPNG_SECRETS_OVERHEAD = 20 + 3,
	/* Octets of a frame; readers refuse a file with more (WTAP_MAX_PACKET_SIZE_STANDARD). */
	PCAPNG_CAPTURED_MAX = 262144,
};

/* epb_flags, 4.3.1: the direction at the interface, and how the frame was addressed. */
enum {
	PCAPNG_INBOUND = 1,
	PCAPNG_OUTBOUND = 2,
	PCAPNG_UNICAST = 1 << 2,
	PCAPNG_MULTICAST = 2 << 2,
	PCAPNG_BROADCAST = 3 << 2,
	PCAPNG_PROMISCUOUS = 4 << 2,
};

struct pcapng_packet {
	uint64_t time_ns;  /* since 1970 */
	uint32_t captured; /* octets that follow the head; PCAPNG_CAPTURED_MAX at most */
	uint32_t length;   /* that the frame had */
	uint32_t flags;
	uint64_t lost;	     /* frames between the packet before and this one */
	const char *comment; /* PCAPNG_COMMENT_MAX - 1 characters at most */
};

struct pcapng_statistics {
	uint64_t begun_ns, ended_ns;
	uint64_t received, dropped; /* at the interface; those written are the rest */
	uint64_t written;
};

/* Section header: `application` wrote it, `comment` says what of. */
void pcapng_put_section(struct buf *b, const char *application, const char *comment);

/* An Ethernet with nanoseconds; the only interface, so its number is 0. */
void pcapng_put_interface(struct buf *b, const char *name, const char *description);

void pcapng_put_packet_head(struct buf *b, const struct pcapng_packet *p);
void pcapng_put_packet_tail(struct buf *b, const struct pcapng_packet *p);
size_t pcapng_packet_octets(const struct pcapng_packet *p);

void pcapng_put_statistics(struct buf *b, const struct pcapng_statistics *s);

/* Lines of a TLS key log, each with its newline (Decryption Secrets Block, type TLSK). */
void pcapng_put_secrets(struct buf *b, struct span lines);

#endif
