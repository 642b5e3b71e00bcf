/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/http_status.h"

#include <stdbool.h>

enum {
	SEARCH_MAX = 65536,
	/* "HTTP/1.1 101": the octets before the code, and with it. */
	CODE_AT = 9,
	CODE_END = 12,
	CODE_SWITCHING = 101,
};

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* One octet of "HTTP/1.x NNN". */
static bool match_status_line(struct http_status *s, uint8_t c)
{
	static const char before[CODE_AT + 1] = "HTTP/1.? ";

	if (s->at >= CODE_AT) {
		s->code = (uint16_t)(s->code * 10 + (c - '0'));
		s->at++;
		return is_digit(c);
	}
	if (before[s->at] == '?' ? !is_digit(c) : c != before[s->at])
		return false;
	s->at++;
	return true;
}

/* Passes one octet of an interim answer; at its end the next status line is awaited. */
static void pass_interim(struct http_status *s, uint8_t c)
{
	if (c == '\n')
		s->newlines++;
	else if (c != '\r')
		s->newlines = 0;
	if (s->newlines == 2)
		*s = (struct http_status){.octets = s->octets};
}

enum http_status_state http_status_feed(struct http_status *s, struct span in, unsigned *status)
{
	for (size_t i = 0; i < in.n; i++) {
		if (s->octets++ >= SEARCH_MAX)
			return HTTP_STATUS_NOT_HTTP;
		if (s->at == CODE_END) {
			pass_interim(s, in.p[i]);
			continue;
		}
		if (!match_status_line(s, in.p[i]))
			return HTTP_STATUS_NOT_HTTP;
		if (s->at == CODE_END && (s->code / 100 != 1 || s->code == CODE_SWITCHING)) {
			*status = s->code;
			return HTTP_STATUS_KNOWN;
		}
	}
	return HTTP_STATUS_MORE;
}
