/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head: the head of one HTTP/1.x request (RFC 9110, RFC 9112), whole in memory.
 *
 * Strict on purpose: whatever two readers could understand in two ways (which host,
 * where the body ends) is malformed, even where a lenient server would take it.
 */
#ifndef SG_HTTP_HEAD_H
#define SG_HTTP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "http/authority.h"
#include "http/section.h"

enum { HTTP_METHOD_MAX = 32 /* octets of a method */ };

enum http_scheme { HTTP_SCHEME_HTTP, HTTP_SCHEME_HTTPS };

static inline uint16_t http_scheme_port(enum http_scheme scheme)
{
	return scheme == HTTP_SCHEME_HTTPS ? 443 : 80;
}

/* One request's head. The spans point into the octets that were parsed. */
struct http_request {
	char method[HTTP_METHOD_MAX + 1]; /* NUL-terminated, as sent: methods have case */
	struct span target;		  /* as it stands in the request line */
	struct span path;    /* of the target, with its query; "/" when an absolute form has none */
	enum http_host host; /* ABSENT: HTTP/1.0 only; admit by literal address or refuse */
	struct name name;    /* HTTP_HOST_NAME, canonical */
	struct addr addr;    /* HTTP_HOST_ADDRESS */
	uint16_t port;	     /* written after the host; 0: none, which means that of the scheme */
	enum http_scheme scheme; /* of the connection */
	uint8_t minor;		 /* of the version: 0 or 1 */
	bool websocket; /* asks to switch to WebSocket (RFC 6455, 4.1) and to nothing else */
};

enum http_framing { HTTP_FRAMING_NONE, HTTP_FRAMING_LENGTH, HTTP_FRAMING_CHUNKED };

/* What follows the head (RFC 9112, 6.3). */
struct http_body {
	enum http_framing framing;
	uint64_t length; /* HTTP_FRAMING_LENGTH: 1..2^63-1 */
};

enum http_head_result {
	HTTP_HEAD_OK,
	HTTP_HEAD_CONNECT,   /* a request line with CONNECT; method and target are filled */
	HTTP_HEAD_NOT_HTTP,  /* no request line of HTTP/1.0 or 1.1 */
	HTTP_HEAD_MALFORMED, /* `*why`: a sentence piece, static; for NOT_HTTP too */
};

extern const char http_coding_unknown[]; /* `*why`, to be told by its address */

/* A request line without its CRLF. Fills method, target, path, minor, an absolute form's host. */
enum http_head_result http_request_line_parse(struct span line, enum http_scheme scheme,
					      struct http_request *out, const char **why);

/*
 * The fields of a whole section, without its first line, that belong to the request that line gave:
 * its host, where it has one, is compared with the Host field.
 */
enum http_head_result http_fields_parse(struct span fields, struct http_request *request,
					struct http_body *body, const char **why);

/* A whole section, in which the caller has counted no more than HTTP_FIELDS_MAX fields. */
enum http_head_result http_head_parse(struct span head, enum http_scheme scheme,
				      struct http_request *out, struct http_body *body,
				      const char **why);

#endif
