/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/proxy_answer.h"

#include <errno.h>
#include <stdio.h>

enum { BAD_GATEWAY = 502, GATEWAY_TIMEOUT = 504, LINE_MAX = 1024 };

const char proxy_tunnel_is_open[] = "HTTP/1.1 200 Connection established\r\n\r\n";

static const char *target_format(const struct http_authority *to, char *text, size_t n)
{
	char addr[ADDR_TEXT_MAX];
	bool v6 = to && to->kind == HTTP_HOST_ADDRESS && !addr_is_v4(&to->addr);

	if (!to)
		snprintf(text, n, "request");
	else if (to->kind == HTTP_HOST_NAME)
		snprintf(text, n, "%s:%u", to->name.s, to->port);
	else
		snprintf(text, n, v6 ? "[%s]:%u" : "%s:%u", addr_format(&to->addr, addr), to->port);
	return text;
}

static void put_line(const struct proxy_answer *a, char line[LINE_MAX])
{
	char target[NAME_MAX_OCTETS + 16];
	bool remedy = a->remedy && a->remedy[0];

	snprintf(line, LINE_MAX, "sandgate: %s: %s%s%s",
		 target_format(a->to, target, sizeof(target)),
		 a->why ? a->why : reason_sentence(a->reason), remedy ? "; to allow it: " : "",
		 remedy ? a->remedy : "");
}

void proxy_answer_print(const struct proxy_answer *a, struct buf *out)
{
	char line[LINE_MAX], text[128];

	put_line(a, line);
	snprintf(text, sizeof(text), "HTTP/1.1 %u ", a->status);
	buf_put_text(out, text);
	buf_put_text(out, line);
	snprintf(text, sizeof(text),
		 "\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nsandgate-reason: ",
		 strlen(line) + 1);
	buf_put_text(out, text);
	buf_put_text(out, reason_word(a->reason));
	buf_put_text(out, "\r\nConnection: close\r\n\r\n");
	buf_put_text(out, line);
	buf_put_text(out, "\n");
}

struct proxy_answer proxy_answer_to_dial(int error)
{
	struct proxy_answer a = {.status = BAD_GATEWAY, .reason = REASON_UPSTREAM_FAILED};

	switch (error) {
	case ECONNREFUSED:
		a.why = "the server refused the connection";
		break;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
		a.why = "there is no way to the server";
		break;
	case ETIMEDOUT:
		a.status = GATEWAY_TIMEOUT;
		a.reason = REASON_UPSTREAM_TIMEOUT;
		break;
	default:
		break;
	}
	return a;
}

enum socks_reply proxy_reply_to_dial(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return SOCKS_REFUSED;
	case ENETUNREACH:
	case ENETDOWN:
		return SOCKS_NETWORK_UNREACHABLE;
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ETIMEDOUT:
		return SOCKS_HOST_UNREACHABLE;
	default:
		return SOCKS_FAILED;
	}
}
