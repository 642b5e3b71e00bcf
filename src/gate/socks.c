/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/socks.h"

enum { VERSION = 5, PASSWORD_VERSION = 1, COMMAND_CONNECT = 1 };
enum { ADDRESS_V4 = 1, ADDRESS_NAME = 3, ADDRESS_V6 = 4 };

/* A message that is cut: so far nothing is wrong with it. */
static enum socks_result whole(const struct reader *r, size_t *octets)
{
	*octets = r->at;
	return r->bad ? SOCKS_MORE : SOCKS_WHOLE;
}

enum socks_result socks_greeting_read(struct span seen, size_t *octets, enum socks_method *method)
{
	struct reader r = reader_of(seen);
	uint8_t version = reader_u8(&r);
	struct span methods = reader_take(&r, reader_u8(&r));

	*method = SOCKS_NO_METHOD;
	if (seen.n && version != VERSION)
		return SOCKS_WRONG;
	if (r.bad)
		return SOCKS_MORE;
	if (memchr(methods.p, SOCKS_NONE, methods.n))
		*method = SOCKS_NONE;
	else if (memchr(methods.p, SOCKS_PASSWORD, methods.n))
		*method = SOCKS_PASSWORD;
	return whole(&r, octets);
}

enum socks_result socks_password_read(struct span seen, size_t *octets)
{
	struct reader r = reader_of(seen);
	uint8_t version = reader_u8(&r);

	if (seen.n && version != PASSWORD_VERSION)
		return SOCKS_WRONG;
	reader_take(&r, reader_u8(&r));
	reader_take(&r, reader_u8(&r));
	return whole(&r, octets);
}

static enum socks_result refuse(enum socks_reply *reply, enum socks_reply with)
{
	*reply = with;
	return SOCKS_WRONG;
}

static bool read_address(struct span octets, struct http_authority *to)
{
	to->kind = HTTP_HOST_ADDRESS;
	if (octets.n == 4)
		to->addr = addr_from_v4(octets.p);
	else
		memcpy(to->addr.b, octets.p, sizeof(to->addr.b));
	return true;
}

/* What is judged is what is looked up, to the octet: nothing is passed over. */
static bool read_name(struct span octets, struct http_authority *to)
{
	const char *text = (const char *)octets.p;

	to->kind = HTTP_HOST_ADDRESS;
	if (addr_parse(text, octets.n, &to->addr))
		return true;
	to->kind = HTTP_HOST_NAME;
	return name_parse_ascii(text, octets.n, &to->name) == NAME_OK;
}

enum socks_result socks_request_read(struct span seen, size_t *octets, struct http_authority *to,
				     enum socks_reply *reply)
{
	struct reader r = reader_of(seen);
	uint8_t version = reader_u8(&r), command = reader_u8(&r), reserved = reader_u8(&r);
	uint8_t type = reader_u8(&r);
	struct span address;
	bool sound;

	if ((seen.n > 0 && version != VERSION) || (seen.n > 2 && reserved != 0))
		return refuse(reply, SOCKS_FAILED);
	if (seen.n > 1 && command != COMMAND_CONNECT)
		return refuse(reply, SOCKS_COMMAND_UNKNOWN);
	if (seen.n > 3 && type != ADDRESS_V4 && type != ADDRESS_NAME && type != ADDRESS_V6)
		return refuse(reply, SOCKS_ADDRESS_UNKNOWN);
	address = reader_take(&r, type == ADDRESS_NAME ? reader_u8(&r)
				  : type == ADDRESS_V4 ? 4
						       : sizeof(to->addr.b));
	to->port = reader_u16(&r);
	if (r.bad)
		return SOCKS_MORE;
	sound = type == ADDRESS_NAME ? read_name(address, to) : read_address(address, to);
	if (!sound || to->port == 0)
		return refuse(reply, SOCKS_FAILED);
	return whole(&r, octets);
}

/* The address that the proxy dials from is nothing for the sandbox to know. */
void socks_reply_print(enum socks_reply reply, struct buf *out)
{
	buf_put_u8(out, VERSION);
	buf_put_u8(out, (uint8_t)reply);
	buf_put_u8(out, 0);
	buf_put_u8(out, ADDRESS_V4);
	buf_put_u32(out, 0);
	buf_put_u16(out, 0);
}
