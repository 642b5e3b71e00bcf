/* SPDX-License-Identifier: Apache-2.0 */
/* client_hello: a whole TLS client hello, as far as the gate reads it. */
#ifndef SG_TEST_CLIENT_HELLO_H
#define SG_TEST_CLIENT_HELLO_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { CLIENT_HELLO_MAX = 512 };

static inline void hello_put_server_name(struct buf *b, const char *name)
{
	uint16_t n = (uint16_t)strlen(name);

	buf_put_u16(b, 0); /* server_name (RFC 6066, 3) */
	buf_put_u16(b, (uint16_t)(n + 5));
	buf_put_u16(b, (uint16_t)(n + 3));
	buf_put_u8(b, 0);
	buf_put_u16(b, n);
	buf_put(b, name, n);
}

/* `alpn` is a list as it stands on the wire: "\2h2\10http/1.1". */
static inline void hello_put_alpn(struct buf *b, const char *alpn)
{
	uint16_t n = (uint16_t)strlen(alpn);

	buf_put_u16(b, 16); /* RFC 7301, 3.1 */
	buf_put_u16(b, (uint16_t)(n + 2));
	buf_put_u16(b, n);
	buf_put(b, alpn, n);
}

/* `name` and `alpn` are "" for none. Returns the length. */
static inline size_t client_hello(uint8_t out[CLIENT_HELLO_MAX], const char *name, bool ech,
				  const char *alpn)
{
	static const uint8_t before[] = {22, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3};
	static const uint8_t suites[] = {0, 0, 2, 0x13,
					 1, 1, 0}; /* no session id; no compression */
	struct buf b = buf_of(out, CLIENT_HELLO_MAX);
	size_t extensions;

	memset(out, 0, CLIENT_HELLO_MAX);
	buf_put(&b, before, sizeof(before));
	b.n += 32;
	buf_put(&b, suites, sizeof(suites));
	buf_put_u16(&b, 0);
	extensions = b.n;
	if (name[0])
		hello_put_server_name(&b, name);
	if (ech)
		buf_put(&b, "\xfe\x0d\0\1\0", 5);
	if (alpn[0])
		hello_put_alpn(&b, alpn);
	out[extensions - 2] = (uint8_t)((b.n - extensions) >> 8);
	out[extensions - 1] = (uint8_t)(b.n - extensions);
	out[3] = (uint8_t)((b.n - 5) >> 8);
	out[4] = (uint8_t)(b.n - 5);
	out[7] = (uint8_t)((b.n - 9) >> 8);
	out[8] = (uint8_t)(b.n - 9);
	return b.n;
}

#endif
