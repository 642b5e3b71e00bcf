/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socks: the messages of SOCKS5 (RFC 1928), as far as CONNECT needs them. Pure.
 *
 * What is asked for is judged, not who asks: a user and a password (RFC 1929) are read, since there
 * are clients that will not go without, and count for nothing.
 */
#ifndef SG_GATE_SOCKS_H
#define SG_GATE_SOCKS_H

#include "base/buf.h"
#include "http/authority.h"

enum { SOCKS_MESSAGE_MAX = 513 /* octets of the longest, a user and a password */ };

enum socks_result {
	SOCKS_MORE,  /* it is not whole */
	SOCKS_WHOLE, /* `*octets` long: what follows is the next message */
	SOCKS_WRONG, /* not SOCKS5, or malformed */
};

enum socks_method { SOCKS_NONE = 0, SOCKS_PASSWORD = 2, SOCKS_NO_METHOD = 0xff };

/* The first message. `*method` is the one to go on with. */
enum socks_result socks_greeting_read(struct span seen, size_t *octets, enum socks_method *method);

/* RFC 1929, 2. */
enum socks_result socks_password_read(struct span seen, size_t *octets);

/* RFC 1928, 6. */
enum socks_reply {
	SOCKS_SUCCEEDED,
	SOCKS_FAILED,
	SOCKS_NOT_ALLOWED,
	SOCKS_NETWORK_UNREACHABLE,
	SOCKS_HOST_UNREACHABLE,
	SOCKS_REFUSED,
	SOCKS_TTL_EXPIRED,
	SOCKS_COMMAND_UNKNOWN,
	SOCKS_ADDRESS_UNKNOWN,
};

/*
 * The request. SOCKS_WRONG: `*reply` is the answer to it. A name that is written as an address is
 * that address.
 */
enum socks_result socks_request_read(struct span seen, size_t *octets, struct http_authority *to,
				     enum socks_reply *reply);

enum { SOCKS_REPLY_OCTETS = 10 };
void socks_reply_print(enum socks_reply reply, struct buf *out);

#endif
