/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quic_initial: the client hello in the first datagrams of a QUIC connection.
 *
 * Initial packets are protected with keys that anyone can derive from them
 * (RFC 9001, 5.2; version 2: RFC 9369), so the server name can be read. They are
 * decrypted, their CRYPTO frames put in order, and the hello is parsed.
 */
#ifndef SG_GATE_QUIC_INITIAL_H
#define SG_GATE_QUIC_INITIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "gate/tls_hello.h"

enum {
	QUIC_CRYPTO_MAX = 16384, /* octets of CRYPTO that are kept */
	QUIC_DATAGRAMS_MAX = 16, /* in which the hello must be whole */
};

enum quic_state {
	QUIC_NEED_MORE,	  /* an Initial was read, the hello is not whole */
	QUIC_HELLO,	  /* *hello is filled */
	QUIC_NOT_INITIAL, /* begins no connection of QUIC version 1 or 2; see quic_initial_feed() */
	QUIC_MALFORMED,	  /* an Initial that breaks the rules, or its hello does */
	QUIC_TOO_LARGE,	  /* beyond the limits above */
};

/* The protection of one connection's client Initials. */
struct quic_keys {
	uint8_t key[16];
	uint8_t iv[12];
	uint8_t hp[16];
};

/* One connection attempt; the caller's memory (18 KiB), quic_initial_begin() before use. */
struct quic_initial {
	uint32_t version; /* 0: no packet yet */
	uint32_t datagrams;
	uint32_t ready; /* octets of `crypto` without a gap from the first */
	struct quic_keys keys;
	uint8_t have[QUIC_CRYPTO_MAX / 8]; /* a bit an octet of `crypto` */
	uint8_t crypto[QUIC_CRYPTO_MAX];
};

/* Fetches the algorithms, once a process. It opens no file, so it may be done in isolation. */
int quic_initial_init(struct err *e) sg_must_check;

void quic_initial_begin(struct quic_initial *q);

/*
 * Reads one datagram of the client, the payload of UDP, in any order with its siblings. After
 * any answer but QUIC_NEED_MORE the attempt is over. *hello need not be initialised.
 *
 * QUIC_NOT_INITIAL: the first packet is no Initial, or it is not protected by the keys that its
 * own connection id gives. The latter are the later Initials of a connection that the server has
 * answered, and only those: whoever lets QUIC through can tell a new connection on an old 4-tuple
 * by feeding each datagram to a fresh attempt.
 */
enum quic_state quic_initial_feed(struct quic_initial *q, struct span datagram,
				  struct tls_hello *hello);

#endif
