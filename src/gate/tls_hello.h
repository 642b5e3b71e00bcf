/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_hello: the client hello of a TLS connection, as far as it can be judged.
 *
 * The hello is looked at and never changed: the gate sends the very octets on.
 * It is found however it is cut: over any number of records (RFC 8446, 5.1) and
 * of reads.
 */
#ifndef SG_GATE_TLS_HELLO_H
#define SG_GATE_TLS_HELLO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/name.h"
#include "base/span.h"

/* Most octets of a hello, record headers included. */
enum { TLS_HELLO_MAX = 65536 };

enum hello_state {
	HELLO_NEED_MORE, /* read on; call again with all octets so far */
	HELLO_OK,
	HELLO_NOT_TLS,	 /* told from the first octets: no TLS record with a handshake, or SSLv2 */
	HELLO_MALFORMED, /* `why` says what */
	HELLO_TOO_LARGE, /* more than TLS_HELLO_MAX */
};

/* Bits of tls_hello.alpn: what the client offers (RFC 7301). */
enum { ALPN_H2 = 1, ALPN_HTTP11 = 2, ALPN_H3 = 4, ALPN_OTHER = 8 };

/* Where a parse over a growing span is; nobody's but the parser's. */
struct hello_cursor {
	uint32_t record; /* octets before the record that is not whole yet */
	uint32_t passed; /* octets of the handshake message in those */
	uint8_t head[4]; /* type and length of the message, as far as `passed` or more says */
};

/* Zeroed before the first call. The results are valid after HELLO_OK only. */
struct tls_hello {
	struct hello_cursor cursor;
	uint32_t octets; /* of records that hold the hello; what follows is the client's next */
	bool has_server_name;
	bool has_ech; /* encrypted client hello, real or GREASE (0xfe0d) */
	uint8_t alpn;
	struct name server_name; /* canonical; when has_server_name */
	const char *why;	 /* HELLO_MALFORMED: a sentence piece, static */
};

/*
 * Reads the client's octets, `seen` being all of them from the first on; each call sees the same
 * ones and more. Each octet is looked at once, however often it is called.
 *
 * `scratch` is TLS_HELLO_MAX octets that the parser may overwrite during the call (a hello over
 * several records is joined there, once, when it is whole); one for all flows will do.
 *
 * A server name is exactly one host_name, no address, no final dot (RFC 6066, 3); an extension
 * that is there twice is malformed (RFC 8446, 4.2); unknown ones, GREASE among them, are passed
 * over (RFC 8701).
 */
enum hello_state tls_hello_parse(struct span seen, uint8_t *scratch, struct tls_hello *out);

/*
 * The same over a handshake message without records, as QUIC carries it (RFC 9001, 4): `seen` is
 * its octets so far, type and length first. Octets after the message are not looked at.
 */
enum hello_state tls_hello_parse_message(struct span seen, struct tls_hello *out);

#endif
