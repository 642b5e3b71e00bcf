/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The octets of a hello come in any pieces, and the message in any number of
 * records. The scan walks from record to record and knows after each call where
 * the first record is that is not whole, so that no octet is looked at twice.
 * It refuses what is not a client hello at the first octet that says so.
 *
 * When the records that hold the message are whole, the message is parsed: where
 * it stands when there is one record, joined in the caller's scratch when there
 * are more. Parsing is one pass over lengths; nothing of the message is kept but
 * what struct tls_hello has.
 *
 * Records that hold the message hold nothing else: a message interleaved with
 * other records, an empty fragment (both RFC 8446, 5.1) or octets after the
 * message in its last record are malformed, since two readers could see two
 * hellos there.
 */
#include "gate/tls_hello.h"

enum {
	RECORD_HEADER = 5,
	RECORD_MAX = 1 << 14, /* RFC 8446, 5.1: of plaintext */
	CONTENT_HANDSHAKE = 22,
	MESSAGE_HEADER = 4,
	MESSAGE_MAX = TLS_HELLO_MAX - RECORD_HEADER,
	TYPE_CLIENT_HELLO = 1,
	VERSION_MAJOR = 3,
	RANDOM_OCTETS = 32,
	SESSION_ID_MAX = 32,
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_ALPN = 16,
	EXTENSION_ECH = 0xfe0d,
	NAME_TYPE_HOST = 0,
};

static enum hello_state malformed(struct tls_hello *h, const char *why)
{
	h->why = why;
	return HELLO_MALFORMED;
}

/* A field of `size` octets of length and then as many octets. */
static struct reader take_vector(struct reader *r, unsigned size)
{
	return reader_sub(r, size == 1 ? reader_u8(r) : reader_u16(r));
}

/* RFC 6066, 3. */
static enum hello_state parse_server_name(struct span body, struct tls_hello *h)
{
	struct reader r = reader_of(body);
	struct reader list = take_vector(&r, 2);
	uint8_t type = reader_u8(&list);
	struct reader host = take_vector(&list, 2);

	if (r.bad || list.bad || reader_left(&r))
		return malformed(h, "the server name extension has wrong lengths");
	if (type != NAME_TYPE_HOST || reader_left(&list))
		return malformed(h, "the server name list is not exactly one host name");
	if (host.n && host.p[host.n - 1] == '.')
		return malformed(h, "the server name ends in a dot");
	if (name_parse_ascii((const char *)host.p, host.n, &h->server_name) != NAME_OK)
		return malformed(h, "the server name is not a host name");
	h->has_server_name = true;
	return HELLO_OK;
}

static uint8_t alpn_bit(struct span protocol)
{
	if (span_equal(protocol, span_of_string("h2")))
		return ALPN_H2;
	if (span_equal(protocol, span_of_string("http/1.1")))
		return ALPN_HTTP11;
	if (span_equal(protocol, span_of_string("h3")))
		return ALPN_H3;
	return ALPN_OTHER;
}

/* RFC 7301, 3.1. */
static enum hello_state parse_alpn(struct span body, struct tls_hello *h)
{
	struct reader r = reader_of(body);
	struct reader list = take_vector(&r, 2);

	if (r.bad || reader_left(&r) || list.n == 0)
		return malformed(h, "the ALPN extension has wrong lengths");
	while (reader_left(&list)) {
		struct reader protocol = take_vector(&list, 1);

		if (list.bad || protocol.n == 0)
			return malformed(h, "the ALPN extension has wrong lengths");
		h->alpn |= alpn_bit(span_of(protocol.p, protocol.n));
	}
	return HELLO_OK;
}

static enum hello_state parse_extension(uint16_t type, struct span body, struct tls_hello *h)
{
	switch (type) {
	case EXTENSION_SERVER_NAME:
		return parse_server_name(body, h);
	case EXTENSION_ALPN:
		return parse_alpn(body, h);
	case EXTENSION_ECH:
		h->has_ech = true;
		return HELLO_OK;
	default:
		return HELLO_OK;
	}
}

static enum hello_state parse_extensions(struct reader *r, struct tls_hello *h)
{
	uint64_t seen[65536 / 64] = {0}; /* a bit a type */

	while (reader_left(r)) {
		uint16_t type = reader_u16(r);
		struct reader body = take_vector(r, 2);
		uint64_t bit = (uint64_t)1 << type % 64;
		enum hello_state state;

		if (r->bad)
			return malformed(h, "an extension has a wrong length");
		if (seen[type / 64] & bit)
			return malformed(h, "an extension is there twice");
		seen[type / 64] |= bit;
		state = parse_extension(type, span_of(body.p, body.n), h);
		if (state != HELLO_OK)
			return state;
	}
	return HELLO_OK;
}

/* The body of a whole client hello (RFC 8446, 4.1.2; without extensions: RFC 5246, 7.4.1.2). */
static enum hello_state parse_body(struct span body, struct tls_hello *h)
{
	struct reader r = reader_of(body);
	uint16_t version = reader_u16(&r);
	struct reader session, suites, compression, extensions;

	reader_take(&r, RANDOM_OCTETS);
	session = take_vector(&r, 1);
	suites = take_vector(&r, 2);
	compression = take_vector(&r, 1);
	if (r.bad || session.n > SESSION_ID_MAX || suites.n < 2 || suites.n % 2 ||
	    compression.n == 0)
		return malformed(h, "the client hello has wrong lengths");
	if (version >> 8 != VERSION_MAJOR)
		return malformed(h, "the client hello has an unknown version");
	if (reader_left(&r) == 0)
		return HELLO_OK;
	extensions = take_vector(&r, 2);
	if (r.bad || reader_left(&r))
		return malformed(h, "the extensions have a wrong length");
	return parse_extensions(&extensions, h);
}

/* Octets of the message with its header, from the header. */
static uint32_t message_size(const uint8_t head[MESSAGE_HEADER])
{
	return MESSAGE_HEADER + ((uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3]);
}

/* What the message header says, of which `n` octets are here, may it go on. */
static enum hello_state check_head(const uint8_t head[MESSAGE_HEADER], uint32_t n,
				   struct tls_hello *h)
{
	if (n >= 1 && head[0] != TYPE_CLIENT_HELLO)
		return malformed(h, "the first handshake message is not a client hello");
	if (n >= MESSAGE_HEADER && message_size(head) > MESSAGE_MAX)
		return HELLO_TOO_LARGE;
	return HELLO_OK;
}

/* As much of a record's header as is here; `first`: of the connection. */
static enum hello_state check_record(struct span s, bool first, struct tls_hello *h)
{
	uint16_t length;

	if ((s.n >= 1 && s.p[0] != CONTENT_HANDSHAKE) || (s.n >= 2 && s.p[1] != VERSION_MAJOR))
		return first ? HELLO_NOT_TLS
			     : malformed(h, "another record lies inside the client hello");
	if (s.n < RECORD_HEADER)
		return HELLO_NEED_MORE;
	length = (uint16_t)(s.p[3] << 8 | s.p[4]);
	if (length == 0 || length > RECORD_MAX)
		return malformed(h, "a record has a wrong length");
	return HELLO_OK;
}

/*
 * Passes the record at the cursor when it is whole. The message header is gathered from the part
 * of it that is here, so that a wrong one is told before the record is whole.
 */
static enum hello_state pass_record(struct span seen, struct tls_hello *h)
{
	struct hello_cursor *c = &h->cursor;
	struct span rest = span_of(seen.p + c->record, seen.n - c->record);
	enum hello_state state = check_record(rest, c->record == 0, h);
	uint32_t length, here, i;

	if (state != HELLO_OK)
		return state;
	length = (uint32_t)rest.p[3] << 8 | rest.p[4];
	here = rest.n - RECORD_HEADER < length ? (uint32_t)rest.n - RECORD_HEADER : length;
	for (i = 0; i < here && c->passed + i < MESSAGE_HEADER; i++)
		c->head[c->passed + i] = rest.p[RECORD_HEADER + i];
	state = check_head(c->head, c->passed + here, h);
	if (state != HELLO_OK)
		return state;
	if (c->passed + here >= MESSAGE_HEADER && c->passed + length > message_size(c->head))
		return malformed(h, "octets follow the client hello in its record");
	if (c->record + RECORD_HEADER + length > TLS_HELLO_MAX)
		return HELLO_TOO_LARGE;
	if (here < length)
		return HELLO_NEED_MORE;
	c->record += RECORD_HEADER + length;
	c->passed += length;
	return HELLO_OK;
}

static bool message_is_whole(const struct hello_cursor *c)
{
	return c->passed >= MESSAGE_HEADER && c->passed == message_size(c->head);
}

/* The message without record headers; in place when one record holds it. */
static struct span join_message(struct span records, const struct hello_cursor *c, uint8_t *scratch)
{
	struct reader r = reader_of(records);
	size_t n = 0;

	if (c->passed + RECORD_HEADER == c->record)
		return span_of(records.p + RECORD_HEADER, c->passed);
	while (reader_left(&r)) {
		struct reader fragment;

		reader_take(&r, RECORD_HEADER - 2);
		fragment = take_vector(&r, 2);
		memcpy(scratch + n, fragment.p, fragment.n);
		n += fragment.n;
	}
	return span_of(scratch, n);
}

enum hello_state tls_hello_parse(struct span seen, uint8_t *scratch, struct tls_hello *out)
{
	struct hello_cursor *c = &out->cursor;
	struct span message;

	while (!message_is_whole(c)) {
		enum hello_state state = pass_record(seen, out);

		if (state != HELLO_OK)
			return state;
	}
	out->octets = c->record;
	message = join_message(span_of(seen.p, c->record), c, scratch);
	return parse_body(span_of(message.p + MESSAGE_HEADER, message.n - MESSAGE_HEADER), out);
}

enum hello_state tls_hello_parse_message(struct span seen, struct tls_hello *out)
{
	enum hello_state state = check_head(seen.p, (uint32_t)seen.n, out);
	uint32_t size;

	if (state != HELLO_OK)
		return state;
	if (seen.n < MESSAGE_HEADER)
		return HELLO_NEED_MORE;
	size = message_size(seen.p);
	if (seen.n < size)
		return HELLO_NEED_MORE;
	return parse_body(span_of(seen.p + MESSAGE_HEADER, size - MESSAGE_HEADER), out);
}
