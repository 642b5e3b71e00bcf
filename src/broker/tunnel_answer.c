/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/tunnel_answer.h"

#include <string.h>

/* "HTTP/1.1 200", and then a space or the end of the line. */
enum { VERSION = 7, STATUS_AT = 9, STATUS_LINE_MIN = 12 };

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool parse_status_line(const uint8_t *p, unsigned *status)
{
	if (memcmp(p, "HTTP/1.", VERSION) != 0 || !is_digit(p[VERSION]) || p[VERSION + 1] != ' ')
		return false;
	for (size_t i = STATUS_AT; i < STATUS_LINE_MIN; i++)
		if (!is_digit(p[i]))
			return false;
	if (p[STATUS_LINE_MIN] != ' ' && p[STATUS_LINE_MIN] != '\r')
		return false;
	*status = (p[STATUS_AT] - '0') * 100u + (p[STATUS_AT + 1] - '0') * 10u +
		  (p[STATUS_AT + 2] - '0');
	return *status >= 100;
}

static bool may_become_answer(struct span seen)
{
	static const char version[] = "HTTP/1.";

	return memcmp(seen.p, version, seen.n < VERSION ? seen.n : VERSION) == 0;
}

enum tunnel_said tunnel_answer_parse(struct span seen, unsigned *status, size_t *head)
{
	const uint8_t *end = seen.n ? memmem(seen.p, seen.n, "\r\n\r\n", 4) : NULL;

	if (!end) {
		if (seen.n >= TUNNEL_HEAD_MAX || (seen.n && !may_become_answer(seen)))
			return TUNNEL_MALFORMED;
		return TUNNEL_MORE;
	}
	*head = (size_t)(end - seen.p) + 4;
	if (*head > TUNNEL_HEAD_MAX || *head <= STATUS_LINE_MIN ||
	    !parse_status_line(seen.p, status))
		return TUNNEL_MALFORMED;
	if (*status < 200)
		return TUNNEL_INTERIM;
	return *status < 300 ? TUNNEL_OPEN : TUNNEL_REFUSED;
}
